import FoundationEssentials
import Logging
import RecordStore
import SQLite
import Synchronization
import TelemetryBasics
import WireModel

/// Everything in the registry, `collector.sqlite`, except the marks and counts of records: organizations, tokens,
/// devices and their enrollment, profiles, commands, the audit trail, notices, uploads and their chunks. Extensions
/// group the operations by subject (`MetadataService+Devices.swift` and so on). They know the engine only as a
/// `RegistrySession`.
///
/// There is one writer and a few readers:
///
/// - The writer is this actor. In a serving collector only it changes the file, on its own serial queue. So
///   transactions wait for each other in a queue and not in SQLite's busy loop. A change is on synced disk when its
///   call returns.
/// - Lists, searches and people's tokens are read on other connections (`MetadataReaders`, `DeviceSearch`). A reader
///   sees what was committed before it began (SQLite's WAL). So a list of 100,000 devices delays neither an enrollment
///   nor the look-up of a credential.
/// - What devices need with every batch comes from memory, in the caller's thread: the device of a credential, the
///   revision of the profile, open commands. Only the first question after a start or a change reads the file.
/// - Each transaction names what it changes of that (`MetadataService+RegistryChanges.swift`). Several collectors with
///   one registry learn these names from each other, and use memory only while their lease is valid.
///
/// Safe to call from any number of tasks. Secrets are stored as hashes and never logged. The record store's engine has
/// its own connections to the same file for its marks (`CollectorDatabase`); SQLite's locks order both.
package actor MetadataService {
    /// Never changes during the collector's life.
    package nonisolated let collectorID: CollectorID
    /// Changes with every restore from backup.
    package nonisolated let incarnationID: IncarnationID
    /// Compares devices' clocks with the collector's, from what `seen` receives.
    package nonisolated let deviceClocks = DeviceClocks()

    package let connection: any RegistrySession
    package let audit: AuditTable
    package let notices: NoticeTable
    let ledger: CredentialLedger
    package nonisolated let directory: DataDirectory
    package nonisolated let registry: any Registry
    package nonisolated let readers: MetadataReaders
    nonisolated let search: DeviceSearch
    package nonisolated let clock: any StoreClock
    package nonisolated let logger: Logger

    /// Whether what is in memory may be used. Who follows the registry's changes renews it.
    package nonisolated let lease: RegistryLease
    /// Devices by the hash of their credential.
    nonisolated let devicesByCredential: MetadataCache<Data, DeviceRow, DeviceID>
    /// Devices of OTLP that may send.
    nonisolated let otlpDeviceRows: MetadataCache<DeviceID, DeviceRow, DeviceID>
    /// An organization's rows are removed together, because each is composed from the organization's own profile too.
    nonisolated let profiles: MetadataCache<ProfileScope, DeviceProfile, String>
    nonisolated let openCommands: OpenCommands
    package nonisolated let seen = SeenBuffer()
    nonisolated let results = ResultBuffer()
    /// Those who hear of each committed change.
    package nonisolated let observers = RegistryObservers()
    /// The limits of logs, set by the log archive.
    package nonisolated let logQuotas = CurrentLogQuotas()
    /// The bytes that were stored today, and the quotas.
    nonisolated let recordUsage = RecordUsage()
    /// When `age` next searches old uploads.
    package var nextForget: Int64 = 0
    /// `false` only if no job over devices is unfinished.
    nonisolated let hasDeviceJobs = Atomic(true)
    /// The changes that the present transaction has named so far.
    package var changes: Set<RegistryChange> = []
    private var auditLimit = AuditRepeatLimit<DeviceID>()
    /// The limit on people's sign-ins, by the id of their token.
    var signInLimit = AuditRepeatLimit<String>()
    var signInRefusals = SignInRefusals()
    var otlpRefusals = OTLPRefusals()
    nonisolated let heldSessions = Mutex(HeldSessions())
    private nonisolated let silenceNotices = Mutex<Int64?>(nil)

    private nonisolated let lock: FileLock?
    private nonisolated let executor = BlockingExecutor(label: "ws1.collector.metadata")

    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Opens `collector.sqlite`. The first time it makes the collector's ids, organization `default` with its profile,
    /// and two tokens.
    /// - Parameters:
    ///   - exclusive: holds the data directory (`<data>/lock`) until `close`. `false` is for a short administrative
    ///     command beside a running collector.
    ///   - deliver: at the first start, receives the two tokens before they are valid. If it throws, nothing is made.
    /// - Returns: the service and, at the first start, the two tokens, which are shown only here.
    /// - Throws: `.inUse` if another collector holds the directory, `.newerVersion`, `.corrupt`, `.diskFull`, `.io`.
    package static func open(
        directory: String, clock: any StoreClock, logger: Logger, exclusive: Bool = true,
        deliver: @Sendable (FirstStart) throws(StoreError) -> Void = { _ in }
    ) throws(StoreError) -> (MetadataService, created: FirstStart?) {
        let directory = DataDirectory(path: directory)
        try directory.prepare()
        let lock = exclusive ? try DataDirectory.lock(directory.lockPath) : nil
        let connection = try CollectorDatabase.open(directory)
        if exclusive { try CollectorDatabase.requireWhole(connection, in: directory) }
        let session = SQLiteRegistrySession(connection)
        if exclusive { try discardPreparedDeviceJobs(in: session) }
        let created = try FirstStart.create(in: session, at: clock.now(), deliver: deliver)
        return (
            try MetadataService(
                session, of: SQLiteRegistry(directory), in: directory, lock: lock, clock: clock,
                logger: logger), created
        )
    }

    /// Opens a registry that several collectors may have open. The first time it makes the same as for a new file. It
    /// blocks until the registry has answered.
    /// - Parameters:
    ///   - registry: with its tables up to date.
    ///   - directory: the collector's own, for the bytes of logs where they are kept in one.
    ///   - deliver: as for a file. A second collector that starts at the same time waits for it and makes nothing.
    /// - Throws: errors of the registry.
    package static func open(
        registry: any Registry, directory: String, clock: any StoreClock, logger: Logger,
        deliver: @Sendable (FirstStart) throws(StoreError) -> Void = { _ in }
    ) throws(StoreError) -> (MetadataService, created: FirstStart?) {
        let directory = DataDirectory(path: directory)
        let session = try registry.openWriting()
        let created = try FirstStart.create(in: session, at: clock.now(), deliver: deliver)
        return (
            try MetadataService(session, of: registry, in: directory, lock: nil, clock: clock, logger: logger), created
        )
    }

    private init(
        _ connection: sending any RegistrySession, of registry: any Registry, in directory: DataDirectory,
        lock: FileLock?, clock: any StoreClock, logger: Logger
    ) throws(StoreError) {
        guard let collector = CollectorID(try connection.meta("collector_id")),
            let incarnation = IncarnationID(try connection.meta("incarnation_id"))
        else { throw StoreError(.corrupt, "\(connection.name): the collector's ids are missing.") }
        collectorID = collector
        incarnationID = incarnation
        self.directory = directory
        self.registry = registry
        lease = registry.makeLease()
        devicesByCredential = MetadataCache(limit: 16_384, lease: lease) { $1.id }
        otlpDeviceRows = MetadataCache(limit: 16_384, lease: lease) { id, _ in id }
        profiles = MetadataCache(limit: 1024, lease: lease) { scope, _ in scope.organization }
        let commands = OpenCommands(lease: lease)
        try commands.load(from: connection, at: clock.now())
        openCommands = commands
        try Self.loadRecordUsage(recordUsage, from: connection, at: clock.now())
        readers = try MetadataReaders(registry)
        search = try DeviceSearch(registry, lease: lease)
        self.lock = lock
        self.clock = clock
        self.logger = logger
        audit = AuditTable(connection: connection)
        notices = NoticeTable(connection: connection)
        ledger = CredentialLedger(connection: connection)
        self.connection = connection
    }

    // MARK: Transactions

    /// Runs a transaction. Its body belongs to this actor, or to a part of the store with its own subject, such as
    /// `NoticeService`.
    package func transaction<Value>(
        _ body: () throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        try requireInPlace()
        let formerLimits = (auditLimit, signInLimit)
        changes = []
        defer { changes = [] }
        let value: Value
        do {
            value = try connection.transaction { () throws(StoreError) in
                let value = try body()
                if !changes.isEmpty { try connection.announce(changes) }
                return value
            }
        } catch {
            // What was reported is not on disk.
            (auditLimit, signInLimit) = formerLimits
            // The change may have been made, so what is in memory may be outdated.
            if error.code == .outcomeUnknown { forgetCached() }
            throw error
        }
        forget(changes)
        observers.notify(.changes(changes))
        return value
    }

    /// Runs a transaction whose result is committed, including a refusal with its audit entry.
    package func change<Value, Refusal: StoreRefusal>(
        _ body: () throws(StoreError) -> Result<Value, Refusal>
    ) throws(Refusal) -> Value {
        let outcome: Result<Value, Refusal>
        do { outcome = try transaction(body) } catch { throw .store(error) }
        return try outcome.get()
    }

    /// Writes an audit entry for a device's action in the same transaction, as often as `AuditRepeatLimit` allows.
    package func report(
        _ action: AuditEntry.Action, of device: DeviceID, organization: String, _ detail: [String: String] = [:],
        outcome: AuditEntry.Outcome = .done, at now: Int64
    ) throws(StoreError) {
        guard let leftOut = auditLimit.admit(action, of: device, organization: organization, at: now) else { return }
        try audit.append(
            .ofDevice(action, device, organization: organization, detail, leftOut: leftOut, outcome: outcome), at: now)
    }

    /// Reads in the writer's session, for callers that then write by what they found.
    package func read<Value>(_ body: () throws(StoreError) -> Value) throws(StoreError) -> Value {
        try requireInPlace()
        return try connection.reading(body)
    }

    /// A file that was removed or replaced must not be used for answers.
    package func requireInPlace() throws(StoreError) {
        try connection.requireInPlace()
    }

    /// - Throws: `.invalid` for a page size outside of 1 to 1,000.
    package static func check(limit: Int) throws(StoreError) {
        guard (1...1000).contains(limit) else { throw StoreError(.invalid, "limit is \(limit); expected 1 to 1,000.") }
    }

    // MARK: The service itself

    /// Whether the opened file is still in place. If it was removed or replaced, the service refuses everything.
    package func readiness() -> StoreReadiness {
        do throws(StoreError) {
            try requireInPlace()
            return .ready
        } catch { return .notReady(error.message) }
    }

    /// Bytes that may still be written to the data directory; `nil` if the system does not report them.
    package nonisolated var freeBytes: UInt64? { directory.disk?.freeBytes }

    /// The path of the data directory.
    package nonisolated var directoryPath: String { directory.path }

    /// When notices about silent devices begin, because the collector listens for an hour first; `nil` if they have
    /// begun, or another collector does the housekeeping.
    package nonisolated var silenceNoticesFrom: Int64? {
        silenceNotices.withLock { $0 }.flatMap { $0 > clock.now() ? $0 : nil }
    }
    nonisolated func reportSilenceNotices(from time: Int64?) { silenceNotices.withLock { $0 = time } }

    /// The version of the SQLite library in use.
    package nonisolated var sqliteVersion: String { Connection.libraryVersion }

    /// Who changed what, newest first; limited as `AuditTable` describes.
    /// - Parameters:
    ///   - id: entries below this id; `nil` starts at the newest.
    ///   - limit: 1 to 1,000.
    package nonisolated func audit(
        _ query: AuditQuery, below id: Int64?, limit: Int
    ) async throws(StoreError) -> ListPage<AuditRow, Int64> {
        try await readers.read { connection throws(StoreError) in
            try AuditTable(connection: connection).page(query, below: id, limit: limit)
        }
    }

    /// Writes what is left to write, and closes.
    package func close() async {
        writeSeen()
        writeResults()
        writeRecordUsage(all: true)
        await readers.close()
        await search.close()
        do throws(StoreError) { try connection.close() } catch {
            logger.warning("collector.sqlite not closed in order", metadata: ["store.error": "\(error)"])
        }
        lock?.release()
    }
}
