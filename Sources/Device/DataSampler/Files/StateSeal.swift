import Encryption
import FoundationEssentials
import Logging
import RecordQueue
import Synchronization
import TelemetryBasics
import WireModel

/// Seals and opens the state files of a data directory. Safe from any thread.
///
/// Files keep their names and places. Each is sealed by itself when it is written, so a start has only those to seal
/// that an earlier version or another setting left plain; the pass may be killed anywhere. `DurableFile` knows the
/// bytes, this knows the keys and what is wanted.
///
/// Some files stay plain, because they must be readable without the keys: what a person decided (consent,
/// do-not-disturb), what the program set, a wipe or an unenrollment under way, which collector is asked, and whether
/// anything is sealed. None of them holds a secret.
final class StateSeal: Sendable {
    /// Where a kill may come between two changes on the disk, for tests of what it leaves.
    enum Step: CaseIterable, Sendable { case writing, replaced, formerOverwritten }

    private enum Mode { case seals, opens, keepsForm }

    private struct State {
        /// Keys that opened something. They serve on while a wipe destroys those on disk, for what survives it.
        var known: [UInt32: DataKey] = [:]
        /// Why nothing could be opened at the start.
        var obstacle: EncryptionError?
        /// Something is plain that is to be sealed.
        var isPassDue = false
    }

    /// The greatest length of a state file, with room for its envelope.
    static let maximumFileBytes = (16 << 20) + 4096

    static let uploadsName = "log-uploads.json"

    /// The files that a clear-data wipe leaves in place.
    private static let surviving = [
        IdentityFile.name, EnrollingFile.name, StoredProfile.fileName, PinKeeper.fileName, AuthorityKeeper.fileName,
        CommandLedger.fileName, LogRequestLedger.fileName, uploadsName,
    ]
    /// All files that are sealed.
    static let names =
        surviving + [PushTokenStore.fileName, AnalyticsLedger.fileName, GeofenceStates.fileName]

    let keys: KeyRing
    /// Opens for a reader what `keys` cannot open.
    private let former: KeyRing?
    let directory: String
    /// Called at each step; does nothing outside of tests.
    let reached: @Sendable (Step) -> Void
    private let mode: Mode
    private let logger: Logger
    private let state = Mutex(State())

    private init(
        _ mode: Mode, directory: String, keys: KeyRing, former: KeyRing? = nil, logger: Logger,
        reached: @escaping @Sendable (Step) -> Void
    ) {
        self.mode = mode
        self.directory = directory
        self.keys = keys
        self.former = former
        self.logger = logger
        self.reached = reached
    }

    /// - Parameter isSealing: whether files are sealed from now on; otherwise they are written plain.
    convenience init(
        directory: String, keys: KeyRing, isSealing: Bool, logger: Logger,
        reached: @escaping @Sendable (Step) -> Void = { _ in }
    ) {
        self.init(isSealing ? .seals : .opens, directory: directory, keys: keys, logger: logger, reached: reached)
    }

    /// For who reads a file beside the program that has the directory. It keeps the form of what it writes.
    static func keepingForm(_ source: DeviceKeySource, in directory: String) -> StateSeal {
        let logger = Logger(label: "ws1.state") { _ in SwiftLogNoOpLogHandler() }
        func keys(_ source: DeviceKeySource) -> KeyRing {
            source.keyRing(
                reading: directory, now: { SystemRecordClock().now().wallTime / 1_000_000 }, logger: logger)
        }
        // Another source in the configuration takes over only at the next start.
        return StateSeal(
            .keepsForm, directory: directory, keys: keys(source), former: keys(.file(path: nil)), logger: logger,
            reached: { _ in })
    }

    /// Likewise with the key file that is usual.
    static func usual(_ directory: String) -> StateSeal { keepingForm(.file(path: nil), in: directory) }

    var isSealing: Bool { mode == .seals }

    /// Why the start could not open what is sealed; `nil`: it could.
    var obstacle: EncryptionError? { state.withLock { $0.obstacle } }

    // MARK: Bytes

    /// The bytes as a file holds them.
    ///
    /// - Parameter isSealed: whether the file is sealed now.
    func form(of bytes: Data, label: String, isSealed: Bool) throws(DataSamplerError) -> Data {
        // What could not be read must not be replaced.
        if let obstacle { throw DataSamplerError(.keyUnavailable, obstacle.message, cause: obstacle) }
        switch mode {
        case .opens: return bytes
        case .keepsForm where !isSealed: return bytes
        case .keepsForm, .seals: break
        }
        do throws(EncryptionError) {
            return try Envelope.seal(bytes, label: label, with: try keys.sealingKey(for: .state))
        } catch {
            // A wipe destroys the keys. What it leaves is plain until there are new ones.
            guard error.code == .destroyed else { throw DataSamplerError(error) }
            state.withLock { $0.isPassDue = true }
            return bytes
        }
    }

    /// - Parameter place: the origin of the bytes, for errors.
    /// - Throws: `storageDamaged` if the bytes are not what was sealed or their key is gone for good; `keyUnavailable`
    ///   if the keys are not at hand.
    func opened(_ bytes: Data, label: String, from place: String) throws(DataSamplerError) -> Data {
        do throws(EncryptionError) {
            return try Envelope.open(bytes, label: label, with: try key(try Envelope.keyID(of: bytes, purpose: .state)))
        } catch {
            switch error.code {
            case .altered, .notSealed, .keyGone:
                throw DataSamplerError(.storageDamaged, "\(place) cannot be opened: \(error.message)", cause: error)
            case .damaged:
                throw DataSamplerError(.keyUnavailable, "\(place) cannot be opened: \(error.message)", cause: error)
            default: throw DataSamplerError(error)
            }
        }
    }

    private func key(_ id: UInt32) throws(EncryptionError) -> DataKey {
        if let key = state.withLock({ $0.known[id] }) { return key }
        guard keys.isBegun else {
            throw EncryptionError(.keyGone, "key \(id) is gone: there is no file of keys. Restore it from a copy")
        }
        let key: DataKey
        do throws(EncryptionError) { key = try keys.key(id, for: .state) } catch {
            guard let former, error.isTemporary, let found = try? former.key(id, for: .state) else { throw error }
            key = found
        }
        state.withLock { $0.known[id] = key }
        return key
    }

    /// The keys were locked.
    func forget() { state.withLock { $0.known = [:] } }

    // MARK: All files

    /// Finds out whether the files can be opened, and brings them into the form that is wanted.
    ///
    /// - Parameter others: ids of keys that something else still names.
    /// - Throws: `storage`, `queueFull`; then some files may have the other form still, and the next start goes on.
    func begin(others: Set<UInt32>) throws(DataSamplerError) {
        guard isSealing || files.contains(where: \.isSealed) else { return }
        if let obstacle = keys.status.obstacle {
            guard ![.io, .newerVersion].contains(obstacle.code) else { throw DataSamplerError(obstacle) }
            state.withLock { $0.obstacle = obstacle }
            logger.error("the keys are not at hand", metadata: ["reason": "\(obstacle.message)"])
            return
        }
        // A wipe that goes on would open again what is sealed now.
        guard !Paths.exists("\(directory)/\(WipeNote.fileName)") else { return state.withLock { $0.isPassDue = true } }
        try convert(others: others)
    }

    /// Seals what a wipe left plain. Costs a lock where there is nothing to do.
    ///
    /// - Returns: whether something was sealed.
    func convertIfDue(others: Set<UInt32>) throws(DataSamplerError) -> Bool {
        guard isSealing, state.withLock({ $0.isPassDue }) else { return false }
        try convert(others: others)
        return true
    }

    private func convert(others: Set<UInt32>) throws(DataSamplerError) {
        state.withLock { $0.isPassDue = false }
        var named = others
        for file in files {
            do throws(DataSamplerError) {
                if let id = try file.convert() { named.insert(id) }
            } catch {
                // Whoever reads it says so.
                guard error.code == .storageDamaged else {
                    state.withLock { $0.isPassDue = true }
                    throw error
                }
            }
        }
        guard keys.isBegun else { return }
        do throws(EncryptionError) { _ = try keys.removeUnused(of: .state, named: named) } catch {
            logger.warning("old keys are not removed yet", metadata: ["reason": "\(error.message)"])
        }
    }

    /// Writes the files plain that survive a wipe, before it destroys the keys. One whose key is not at hand is
    /// removed: it is lost with the keys.
    func openWhatSurvives() throws(DataSamplerError) {
        // One that cannot be read at all holds no wipe up.
        for name in Self.surviving where file(name).isSealed {
            do throws(DataSamplerError) { try file(name).convertToPlain() } catch {
                // A damaged one is dealt with when it is read.
                if error.code == .storageDamaged { continue }
                guard [.keyUnavailable, .wipePending].contains(error.code) else { throw error }
                try file(name).remove()
                logger.error(
                    "a file is lost with its key", metadata: ["file": "\(name)", "reason": "\(error.message)"])
            }
        }
        state.withLock { state in
            state.isPassDue = true
            state.known = [:]
        }
    }

    /// Removes the files that are sealed, because nobody has their key any more.
    func removeSealed() throws(DataSamplerError) {
        for file in files where file.isSealed { try file.remove() }
    }

    private var files: [DurableFile] { Self.names.map(file) }

    private func file(_ name: String) -> DurableFile { DurableFile(directory: directory, name: name, seal: self) }
}
