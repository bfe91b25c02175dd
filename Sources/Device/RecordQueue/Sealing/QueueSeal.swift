import Encryption
import FoundationEssentials
import SQLite
import WireModel

/// Seals and opens what the queue stores. `Schemas/encryption/FORMAT.md` has the forms.
///
/// It keeps no key: each use asks the ring, so a lock counts at once. Only the writer's thread uses it.
final class QueueSeal {
    private let keys: KeyRing?
    /// How often no key opened a row whose own is gone. Reading the keys for each of a whole backlog would take long.
    private var fruitless: [UInt32: Int] = [:]
    private static let mostFruitless = 16
    /// Whether new rows and links are sealed.
    let isSealing: Bool

    init(_ configuration: RecordQueue.Configuration) {
        keys = configuration.keys
        isSealing = configuration.keys != nil && configuration.isSealing
    }

    /// Whether rows of the other form are converted. Without keys nothing can be opened.
    var isConverting: Bool { keys != nil }

    /// The key for a new row or link; `nil`: it stays plain.
    ///
    /// - Throws: `.keyUnavailable`, `.diskFull`.
    func sealingKey() throws(QueueError) -> DataKey? {
        guard isSealing, let keys else { return nil }
        do throws(EncryptionError) { return try keys.sealingKey(for: .queue) } catch { throw QueueError(error) }
    }

    // MARK: - Rows

    /// The content of a row; `nil` if it is damaged.
    ///
    /// - Throws: `.keyUnavailable` if its key is not at hand. Then the row is whole, as far as anybody knows.
    func open(_ row: StoredRow) throws(QueueError) -> RowContent? {
        guard row.keyID != 0 else {
            return ChainLink(row.link).map { RowContent(link: $0, bytes: row.body) }
        }
        guard let id = UInt32(exactly: row.keyID) else { return nil }
        do throws(QueueError) { return Self.open(row, with: try key(id)) } catch {
            // A flipped bit of the column names a key that never was. Then one that is there opens the row.
            guard (error.cause as? EncryptionError)?.code == .keyGone,
                fruitless[id, default: 0] < Self.mostFruitless
            else { throw error }
            guard let content = openWithAny(row) else {
                fruitless[id, default: 0] += 1
                throw error
            }
            return content
        }
    }

    private static func open(_ row: StoredRow, with key: DataKey) -> RowContent? {
        guard let place = row.place, let (link, bytes) = try? SealedRecord.open(row.body, at: place, with: key)
        else { return nil }
        return RowContent(link: link, bytes: bytes)
    }

    private func openWithAny(_ row: StoredRow) -> RowContent? {
        guard let keys else { return nil }
        for id in ids {
            guard let key = try? keys.key(id, for: .queue) else { continue }
            if let content = Self.open(row, with: key) { return content }
        }
        return nil
    }

    /// The sealed body of a row.
    func seal(_ content: RowContent, at place: SealedRecord.Place, with key: DataKey) throws(QueueError) -> Data {
        do throws(EncryptionError) {
            return try SealedRecord.seal(link: content.link, bytes: content.bytes, at: place, with: key)
        } catch {
            throw QueueError(error)
        }
    }

    // MARK: - Links

    /// A link of `ledger` or `gap`, as it was found.
    enum StoredLink {
        case link(ChainLink)
        /// Its key is not at hand.
        case unavailable(QueueError)
        case damaged
    }

    private static let idBytes = 4
    static let linkBytes = idBytes + SealedRecord.overhead

    /// How a link is stored: its 16 bytes, or a key id and a sealed record without bytes.
    ///
    /// An unknown link, and that before the first record, is all zeros and discloses nothing. A wipe destroys the keys
    /// first, and what its epochs still have of links is forgotten then.
    func stored(_ link: ChainLink, at number: UInt64, of chain: ChainCode) throws(QueueError) -> Data {
        guard isSealing, link != .zero else { return link.data }
        do throws(QueueError) {
            guard let key = try sealingKey() else { return link.data }
            let sealed = try seal(
                RowContent(link: link, bytes: Data()), at: Self.place(number, chain), with: key)
            return withUnsafeBytes(of: key.id.bigEndian) { Data($0) } + sealed
        } catch {
            guard (error.cause as? EncryptionError)?.code == .destroyed else { throw error }
            return ChainLink.zero.data
        }
    }

    func link(_ stored: Data, at number: UInt64, of chain: ChainCode) -> StoredLink {
        if let link = ChainLink(stored) { return .link(link) }
        guard let id = Self.keyID(ofLink: stored) else { return .damaged }
        let sealed = Data(stored.dropFirst(Self.idBytes))
        func opened(_ key: DataKey) -> ChainLink? {
            (try? SealedRecord.open(sealed, at: Self.place(number, chain), with: key))?.link
        }
        do throws(QueueError) { return opened(try key(id)).map { StoredLink.link($0) } ?? .damaged } catch {
            // As for a row: a flipped bit of the id.
            if let keys, (error.cause as? EncryptionError)?.code == .keyGone {
                for id in ids {
                    if let key = try? keys.key(id, for: .queue), let link = opened(key) { return .link(link) }
                }
            }
            return .unavailable(error)
        }
    }

    /// `nil`: the link is plain, or no link.
    static func keyID(ofLink stored: Data) -> UInt32? {
        guard stored.count == linkBytes else { return nil }
        return stored.withUnsafeBytes { UInt32(bigEndian: $0.loadUnaligned(as: UInt32.self)) }
    }

    /// The ordinal of the epoch stands in place of the queue time, so a link fits no other epoch.
    private static func place(_ number: UInt64, _ chain: ChainCode) -> SealedRecord.Place {
        SealedRecord.Place(stream: chain.stream, number: number, queueTime: chain.ordinal, size: 0)
    }

    // MARK: - Keys

    private func key(_ id: UInt32) throws(QueueError) -> DataKey {
        guard let keys else {
            throw QueueError(
                .keyUnavailable, "the queue has sealed records, and no keys were given to it",
                remedy: "Open it with the keys of its data directory. Nothing is lost.")
        }
        do throws(EncryptionError) { return try keys.key(id, for: .queue) } catch { throw QueueError(error) }
    }

    /// Whether a key is gone for good, as far as the keys at hand tell: nobody can give it by a passcode or a file of
    /// the device key.
    ///
    /// - Throws: `.keyUnavailable` if the keys themselves are not at hand.
    func isGone(_ id: Int64) throws(QueueError) -> Bool {
        guard id != 0 else { return false }
        guard let id = UInt32(exactly: id) else { return true }
        do throws(QueueError) {
            _ = try key(id)
            return false
        } catch {
            guard let cause = error.cause as? EncryptionError, !cause.isTemporary, cause.code != .io,
                cause.code != .newerVersion
            else { throw error }
            return true
        }
    }

    /// The ids of the queue's keys; none if the keys are not at hand.
    var ids: [UInt32] {
        keys?.status.keys.filter { $0.purpose == KeyPurpose.queue.description }.map(\.id) ?? []
    }

    /// Removes keys that nothing names.
    func removeUnused(named: Set<UInt32>) throws(QueueError) -> [UInt32] {
        guard let keys else { return [] }
        do throws(EncryptionError) { return try keys.removeUnused(of: .queue, named: named) } catch {
            throw QueueError(error)
        }
    }
}

/// What a row holds besides its place in the queue.
struct RowContent: Equatable, Sendable {
    var link: ChainLink
    var bytes: Data
}

/// A row of a table of records or of the quarantine, plain or sealed.
struct StoredRow: Sendable {
    /// In the order of the initializer from a statement.
    static let columns = "number, queue_time, size, key_id, link, body"

    var stream: StreamName
    var number: UInt64
    var queueTime: Int64
    var size: Int64
    /// 0: plain.
    var keyID: Int64
    /// Empty in a sealed row, whose body has it.
    var link: Data
    var body: Data

    /// `nil` if the size cannot be one.
    var place: SealedRecord.Place? {
        Int(exactly: size).map {
            SealedRecord.Place(stream: stream, number: number, queueTime: queueTime, size: $0)
        }
    }
}

extension StoredRow {
    /// - Parameter row: a statement that selects `columns` first.
    init(_ row: Statement, of stream: StreamName) throws {
        self.init(
            stream: stream, number: try row.uint64(0), queueTime: row.int64(1), size: row.int64(2),
            keyID: row.int64(3), link: row.data(4), body: row.data(5))
    }
}

extension StoredRow {
    /// A row that is about to be sealed.
    struct Sealed {
        var content: RowContent
        var stream: StreamName
        var number: UInt64
        var queueTime: Int64

        var place: SealedRecord.Place {
            SealedRecord.Place(stream: stream, number: number, queueTime: queueTime, size: content.bytes.count)
        }
    }
}
