import Encryption
import Synchronization

/// The keys of a store whose lines are encrypted. Safe from any thread.
///
/// A program that writes has a key ring. A program that only reads, such as `ws1log`, has a source that it asks when it
/// meets the first encrypted file.
package final class LogKeys: Sendable {
    private let ring: KeyRing?
    private let opening: @Sendable (UInt32) throws(EncryptionError) -> DataKey
    /// Whether what is written is encrypted. If not, keys only open, and what is encrypted becomes plain again.
    package let isSealing: Bool
    /// Ids that were given to writers. A segment that begins with one of them may not be on disk yet.
    private let given = Mutex<Set<UInt32>>([])
    /// A key for segments that begin in the present turn of the writer, and whether one did.
    private let prepared = Mutex<(key: DataKey, isUsed: Bool)?>(nil)

    package init(_ ring: KeyRing, isSealing: Bool = true) {
        self.ring = ring
        self.isSealing = isSealing
        opening = { (id) throws(EncryptionError) in try ring.key(id, for: .logs) }
    }

    /// Keys for a program that only reads.
    package init(opening: @escaping @Sendable (UInt32) throws(EncryptionError) -> DataKey) {
        ring = nil
        isSealing = false
        self.opening = opening
    }

    /// Keys that another process gave.
    package convenience init(_ list: KeyList) {
        self.init { (id) throws(EncryptionError) in
            guard let key = list.key(id, for: .logs) else {
                throw EncryptionError(
                    .keyGone,
                    "key \(id) is not among the keys of this device: a wipe has destroyed it, or another device has it")
            }
            return key
        }
    }

    func opened(_ id: UInt32) throws(EncryptionError) -> DataKey { try opening(id) }

    func key(_ id: UInt32, for path: String) throws(LogStoreError) -> DataKey {
        do throws(EncryptionError) { return try opening(id) } catch { throw LogStoreError(error, path) }
    }

    /// Asks for a key ahead of the segments that a turn of the writer may begin.
    func prepare(for path: String) throws(LogStoreError) {
        guard prepared.withLock({ $0?.isUsed ?? true }) else { return }
        let key = try sealingKey(for: path)
        prepared.withLock { $0 = (key, false) }
    }

    /// The key for a new segment. If the keys were locked after the turn began, it is the one that was prepared: a run
    /// has a salt of its own, so a key may serve several.
    func beginningKey(for path: String) throws(LogStoreError) -> DataKey {
        do { return try sealingKey(for: path) } catch {
            guard error.code == .locked, (error.cause as? EncryptionError)?.code != .destroyed,
                let key = prepared.withLock({ prepared in
                    prepared?.isUsed = true
                    return prepared?.key
                })
            else { throw error }
            return key
        }
    }

    /// The key for what is written now.
    func sealingKey(for path: String) throws(LogStoreError) -> DataKey {
        do throws(EncryptionError) {
            guard let ring, isSealing else { throw EncryptionError(.invalid, "these keys only open") }
            let key = try ring.sealingKey(for: .logs)
            given.withLock { _ = $0.insert(key.id) }
            return key
        } catch { throw LogStoreError(error, path) }
    }

    /// Whether there may be keys to let go of.
    var hasSeveral: Bool { (try? ring?.list(of: .logs).keys.count) ?? 0 > 1 }

    /// Lets go of keys that no segment names any more.
    /// - Parameter named: all ids that segments name.
    func retire(allBut named: Set<UInt32>) {
        let kept = named.union(given.withLock { $0 })
        // What cannot be removed now goes another time.
        _ = try? ring?.removeUnused(of: .logs, named: kept)
    }

    /// The keys, for a reader beside this process.
    package func list() throws(EncryptionError) -> KeyList {
        guard let ring else { return KeyList(keys: []) }
        return try ring.list(of: .logs)
    }

    /// Keys of a reader that was given none.
    static let none = LogKeys { (id) throws(EncryptionError) in
        throw EncryptionError(
            .keyMissing, "this program has no keys. Read with `ws1log --data` of the data directory that has them")
    }
}

extension LogStoreError {
    /// An error of the keys. A key that is not at hand is never damage: the lines are as they were.
    init(_ error: EncryptionError, _ path: String) {
        switch error.code {
        case .locked, .keyMissing, .wrongKey, .wrongPasscode, .exposed, .destroyed, .keyGone, .damaged:
            self.init(
                .locked,
                "\(path) is encrypted, and its key is not at hand: \(error.message). The lines are not damaged; try "
                    + "again when the key is there.", cause: error)
        case .newerVersion: self.init(.newer, "\(path): \(error.message)", cause: error)
        case .altered, .notSealed: self.init(.damaged, "\(path) is damaged: \(error.message)", cause: error)
        case .diskFull: self.init(.diskFull, error.message, cause: error)
        case .io: self.init(.io, error.message, cause: error)
        case .invalid: self.init(.invalid, error.message, cause: error)
        }
    }
}
