import DeviceTunables
import Encryption
import Glibc
import Synchronization
import TelemetryBasics
import WireModel

/// A program's log on disk. Lines have a level and are stored in compressed segments that are bounded in size and age.
/// `ws1log`, requests of the collector and anybody who has the directory can read them.
///
///     let store = try LogStore(.init(directory: "/var/lib/kiosk/logs", applicationName: "kiosk"))
///     store.warning("printer is low on paper", category: "printer", metadata: ["tray": "2"])
///
/// **Threads.** Every call may be made from any thread. A call takes well under a microsecond. It costs next to nothing
/// if its level is filtered out, and then the message is not evaluated. Below level error a call never waits for the
/// disk.
///
/// **Durability.** When a call at level error returns, the kernel has that line and every line logged before: a crash
/// of the process loses none of them. A less severe line waits in memory for at most `flushInterval`. Lines are not
/// synced one by one: a power cut may lose what the kernel had not written yet. Sealed segments are synced. If lines
/// are encrypted and the key is not at hand, all lines wait in memory until it is, and calls at level error do not
/// wait.
///
/// **Never in the way.** No call fails. Only calls at level error and `flush()` wait for the disk. Lines that cannot be
/// written are dropped and counted in `status` by level and reason. A warning of category `log.store` reports them as
/// soon as there is room. If lines come faster than the disk can write them, up to 8 MiB wait in memory. Verbose lines
/// are dropped when half of that is used, information at three quarters, warnings when it is full.
///
/// **Several programs** may use the same directory. Each writes its own segments. If a program dies, the next one that
/// opens the store seals its segments. A process that forks without `exec` must not log in the child.
public final class LogStore: Sendable {
    /// The configuration's name. File names of fetched chunks begin with it.
    public let applicationName: String
    /// The configuration's bundle id.
    public let applicationIdentifier: String
    /// The configuration's scrubbing.
    package let ownScrubbing: LogScrubbing
    package let directory: StoreDirectory
    let keeper: StoreKeeper
    let writer: LogWriter
    private let session: SessionKeeper
    private let rules: Atomic<Int>
    private let scrubber: ShortLock<LineScrubber?>
    /// Serializes deliveries for other programs.
    let visits = Mutex(())

    /// Opens the store. A directory that cannot be written is no error: `status.failure` names the cause, and lines are
    /// counted as lost until it can be written.
    /// - Throws: `.invalid` if the configuration or the scrub rules are out of range, `.io` if no thread can be
    ///   started.
    public init(_ configuration: Configuration) throws(LogStoreError) {
        try configuration.check()
        let scrubber = try LineScrubber(configuration.scrubbing)
        applicationName = configuration.applicationName
        applicationIdentifier = configuration.applicationIdentifier
        ownScrubbing = configuration.scrubbing
        keeper = configuration.keeper
        directory = keeper.directory
        session = SessionKeeper(configuration.session, in: directory)
        session.scrub(with: scrubber)
        writer = LogWriter(configuration.writerSettings, keeper: keeper, session: session)
        self.scrubber = ShortLock(scrubber)
        rules = Atomic(
            CaptureRules(level: configuration.level, hasRing: configuration.ringBytes > 0, isScrubbing: scrubber != nil)
                .word)
        try writer.start()
    }

    deinit { writer.stop(sealing: false) }

    // MARK: - Lines

    /// Logs a line.
    /// - Parameters:
    ///   - level: the severity.
    ///   - message: any text; evaluated only if the level is logged. A whole line has at most 65,536 bytes. A longer
    ///     one ends in `…[+N]`, where N is the number of bytes left out.
    ///   - category: the part of the program that speaks, e.g. `app.network`; at most 128 bytes. Spaces and control
    ///     characters become `_`.
    ///   - metadata: evaluated like the message; sorted by key on disk.
    public func log(
        _ level: LogLevel, _ message: @autoclosure () -> String, category: String = "",
        metadata: @autoclosure () -> [String: String] = [:]
    ) {
        let word = rules.load(ordering: .relaxed)
        guard CaptureRules.accepts(level, word) else { return }
        accept(level, word, category, message(), metadata())
    }

    /// Logs a line at level error. When the call returns, the kernel has the line. Parameters as in `log`.
    public func error(
        _ message: @autoclosure () -> String, category: String = "", metadata: @autoclosure () -> [String: String] = [:]
    ) {
        log(.error, message(), category: category, metadata: metadata())
    }

    /// Logs a line at level warning. Parameters as in `log`.
    public func warning(
        _ message: @autoclosure () -> String, category: String = "", metadata: @autoclosure () -> [String: String] = [:]
    ) {
        log(.warning, message(), category: category, metadata: metadata())
    }

    /// Logs a line at level information. Parameters as in `log`.
    public func information(
        _ message: @autoclosure () -> String, category: String = "", metadata: @autoclosure () -> [String: String] = [:]
    ) {
        log(.information, message(), category: category, metadata: metadata())
    }

    /// Logs a line at level verbose. Parameters as in `log`.
    public func verbose(
        _ message: @autoclosure () -> String, category: String = "", metadata: @autoclosure () -> [String: String] = [:]
    ) {
        log(.verbose, message(), category: category, metadata: metadata())
    }

    /// Returns when the kernel has every line logged before, or when the line is counted as lost. Waits for the disk.
    /// Lines that wait for the key of their encryption go on waiting.
    public func flush() { writer.flush() }

    /// The keys of encryption may be at hand now: writes the lines that wait for them, and the crash logs and segments
    /// that could not be sealed. Call it when a passcode was entered. Returns at once.
    package func keysAvailable() { writer.keysAvailable() }

    /// The keys of the segments, for a reader beside this process; `nil` if the store was given none.
    package func keyList() throws(EncryptionError) -> KeyList? { try directory.keys?.list() }

    /// Erases all lines of all programs that write here: segments, crash logs and the ring. They are counted as
    /// deleted. Also erases how far each intake has read, so each begins as new. Waits for the disk.
    /// - Throws: what stopped it. Lines that were not reached are still there.
    package func erase() throws(LogStoreError) {
        flush()
        do { try keeper.eraseAll() } catch {
            // No directory, nothing to erase.
            guard error.code == .notFound else { throw error }
        }
        writer.letGoOfRemoved()
    }

    // MARK: - Rules

    /// The least severe level that is written; `nil` writes nothing, not even into the ring. A change takes effect with
    /// the next call.
    public var level: LogLevel? {
        get { CaptureRules(word: rules.load(ordering: .relaxed)).level }
        set { change { $0.level = newValue } }
    }

    /// The least severe level at which a call has any effect, including the ring.
    var capturedLevel: LogLevel? {
        let rules = CaptureRules(word: rules.load(ordering: .relaxed))
        return rules.level == nil || !rules.hasRing ? rules.level : .verbose
    }

    /// The rules that apply to a line now.
    var capture: (rules: CaptureRules, scrubber: LineScrubber?) {
        let rules = CaptureRules(word: self.rules.load(ordering: .acquiring))
        return (rules, rules.isScrubbing ? scrubber.withLock { $0 } : nil)
    }

    /// Replaces the scrub rules from the next call on. Lines already accepted stay as they are.
    /// - Throws: `.invalid` if a rule is out of range; the former rules stay in force.
    public func setScrubbing(_ scrubbing: LogScrubbing) throws(LogStoreError) {
        let new = try LineScrubber(scrubbing)
        // The rules come first and the flag second, so no line passes unscrubbed between the two.
        if new != nil { scrubber.withLock { $0 = new } }
        change { $0.isScrubbing = new != nil }
        if new == nil { scrubber.withLock { $0 = nil } }
        session.scrub(with: new)
    }

    private func change(_ body: (inout CaptureRules) -> Void) {
        var old = rules.load(ordering: .relaxed)
        while true {
            var new = CaptureRules(word: old)
            body(&new)
            let (exchanged, original) = rules.compareExchange(
                expected: old, desired: new.word, ordering: .acquiringAndReleasing)
            if exchanged { return }
            old = original
        }
    }

    // MARK: - End

    /// Writes waiting lines, seals the segments and ends the store's thread. Lines logged afterwards are counted as
    /// lost. A store that is released without `close` also writes its waiting lines; the next program that opens the
    /// directory seals its segments.
    public func close() async {
        await withCheckedContinuation { continuation in writer.stop(sealing: true) { continuation.resume() } }
    }

    /// Returns when crash logs are written for all sessions that ended before this store was opened.
    package func crashesReported() async { await session.crashesReported() }

    // MARK: - From call to line

    private func accept(
        _ level: LogLevel, _ word: Int, _ category: String, _ message: String, _ metadata: [String: String]
    ) {
        let time = SystemClock.wallMicroseconds()
        let isRing = CaptureRules.isRing(level, word)
        if !CaptureRules.isScrubbing(word),
            acceptShort(time, level, isRing, category.isEmpty ? Self.noCategory : category, message, metadata)
        {
            return
        }
        var parts = LineFields(
            category: category, message: message,
            fields: metadata.map { LineFields.Field(key: $0.key, value: $0.value) })
        if CaptureRules.isScrubbing(word), let scrubber = scrubber.withLock({ $0 }) { scrubber.scrub(&parts) }
        parts.body.withUnsafeBufferPointer { body in
            writer.append(time: time, level: level, isRing: isRing, category: body, message: nil)
        }
    }

    private static let noCategory = "-"

    /// The fast path. A line in which nothing must be escaped is copied straight into the memory of waiting lines, by
    /// way of the stack if it has fields.
    /// - Returns: `false` if the line must take the general path.
    private func acceptShort(
        _ time: Int64, _ level: LogLevel, _ isRing: Bool, _ category: String, _ message: String,
        _ metadata: [String: String]
    ) -> Bool {
        guard metadata.isEmpty else {
            return ShortLine.build(category: category, message: message, fields: metadata) { body in
                writer.append(time: time, level: level, isRing: isRing, category: body, message: nil)
            }
        }
        return category.utf8.withContiguousStorageIfAvailable { category in
            guard category.count <= LogLimits.categoryBytes, Escape.category.plainEnd(category) == category.count else {
                return false
            }
            return message.utf8.withContiguousStorageIfAvailable { message in
                guard category.count + 1 + message.count <= LineBody.maximumBytes,
                    Escape.message.plainEnd(message) == message.count
                else {
                    return false
                }
                writer.append(time: time, level: level, isRing: isRing, category: category, message: message)
                return true
            } ?? false
        } ?? false
    }
}

extension LogStore {
    /// The content of a store, and what was lost.
    public struct Status: Sendable {
        /// Bytes on disk of all programs that write into the directory, without the ring.
        public var bytes: Int
        /// Bytes of the ring on disk.
        public var ringBytes: Int
        /// Segments on disk, including the ring's.
        public var segments: Int
        /// Lines this program has handed to the kernel since it opened the store.
        public var written: LogLevelCounts
        /// Lines that are not, or no longer, in the store, by reason. Counted over the store's whole life and all
        /// programs.
        public var dropped: [LogDropReason: LogLevelCounts]
        /// Lines of this program that wait in memory.
        public var waiting: LogLevelCounts
        /// Bytes of memory that waiting lines take.
        public var waitingBytes: Int
        /// Why the last lines could not be written; `nil` if they could.
        public var failure: LogStoreError?
    }

    /// The present status. Reads the directory, so do not ask every second. Waits while another thread writes.
    public var status: Status {
        let figures = writer.figures()
        var dropped = ((try? directory.readState()) ?? nil)?.dropped ?? [:]
        for (reason, counts) in figures.unsaved { dropped[reason, default: LogLevelCounts()] += counts }
        let segments = (try? keeper.sizes()) ?? [:]
        let ring = segments.filter { $0.key.kind == .ring }.values.reduce(0, +)
        return Status(
            bytes: segments.values.reduce(0, +) - ring, ringBytes: ring, segments: segments.count,
            written: figures.written,
            dropped: dropped, waiting: figures.waiting, waitingBytes: figures.waitingBytes, failure: figures.failure)
    }

    /// The settings of a store.
    public struct Configuration: Sendable {
        /// Directory of the store's files. Made with mode 0700 if it is missing. Several programs may use the same one.
        public var directory: String
        /// The program's name. File names of fetched chunks begin with it.
        public var applicationName: String
        /// Bundle id of the program, which its segments and what is uploaded of them carry; at most 200 bytes. Empty
        /// for the application that the device enrolled with.
        public var applicationIdentifier = ""
        /// The program's version, recorded in its crash logs.
        public var applicationVersion = ""
        /// The least severe level that is written; `nil` writes nothing. Default: information.
        public var level: LogLevel? = .information
        /// How long a line below level error may wait in memory, which is the most that a crash of the process can
        /// lose. Default 1 s, at most 60 s. With zero, each call hands its line to the kernel before it returns.
        public var flushInterval: Duration = .seconds(1)
        /// Limit of all segments but the ring's, in bytes on disk. Default 50,000,000; at least 1,000,000.
        public var maximumBytes = 50_000_000
        /// How long a segment is kept after its last line. Default 14 days; a minute to 3,650 days.
        public var maximumAge: Duration = .seconds(14 * 86_400)
        /// Limit of the ring in bytes on disk. Lines less severe than `level` go there, for requests that ask for them.
        /// Default 5,000,000; at least 100,000. With 0 there is no ring, and a filtered line costs next to nothing.
        public var ringBytes = 5_000_000
        /// Age at which a segment is sealed even if it is not full. Default a day; a minute to 30 days.
        public var segmentAge: Duration = .seconds(86_400)
        /// The text that is replaced in every line before it is stored anywhere.
        public var scrubbing = LogScrubbing()
        /// The keys with which lines are encrypted; `nil`: they are plain.
        package var keys: KeyRing?
        /// Whether new lines are encrypted. If not, `keys` only open what is encrypted, and it becomes plain again.
        package var isEncrypting = true

        /// - Parameters:
        ///   - directory: where the files lie.
        ///   - applicationName: the program's name.
        public init(directory: String, applicationName: String) {
            self.directory = directory
            self.applicationName = applicationName
        }
    }
}

extension LogStore.Configuration {
    func check() throws(LogStoreError) {
        try Self.require(!directory.isEmpty, "directory", "empty", "a path")
        try Self.require(!applicationName.isEmpty, "applicationName", "empty", "a name")
        try Self.check(applicationIdentifier: applicationIdentifier)
        try Self.require(flushInterval, in: .zero ... .seconds(60), "flushInterval")
        try Self.require(maximumBytes >= 1_000_000, "maximumBytes", "\(maximumBytes)", "at least 1000000")
        try Self.require(maximumAge, in: .seconds(60) ... .seconds(3650 * 86_400), "maximumAge")
        try Self.require(ringBytes == 0 || ringBytes >= 100_000, "ringBytes", "\(ringBytes)", "0 or at least 100000")
        try Self.require(segmentAge, in: .seconds(60) ... .seconds(30 * 86_400), "segmentAge")
    }

    static func check(applicationIdentifier: String) throws(LogStoreError) {
        try require(
            SegmentName.component(applicationIdentifier).utf8.count <= SegmentName.maximumApplicationBytes,
            "the bundle id", "too long",
            "at most \(SegmentName.maximumApplicationBytes) letters, digits, points, dashes and underscores")
    }

    var writerSettings: LogWriter.Settings {
        LogWriter.Settings(
            flushMilliseconds: flushInterval.milliseconds, segmentBytes: LogLimits.chunkBytes,
            ringSegmentBytes: min(
                LogLimits.chunkBytes, max(LogLimits.lineBytes, ringBytes / Tunables.Logs.ringSegments)),
            segmentAgeMilliseconds: segmentAge.milliseconds, waiting: WaitingLimits(bytes: Tunables.Logs.waitingBytes))
    }

    /// The session of this process, starting now.
    var session: SessionRecord {
        SessionRecord(
            application: applicationName, applicationIdentifier: applicationIdentifier, version: applicationVersion,
            process: getpid(), bootID: SystemClock.bootID(), started: SystemClock.wallMicroseconds(),
            backtraces: Backtraces.path(from: getenv("SWIFT_BACKTRACE").map { String(cString: $0) }))
    }

    var keeper: StoreKeeper {
        StoreKeeper(
            directory: StoreDirectory(path: directory, keys: keys.map { LogKeys($0, isSealing: isEncrypting) }),
            maximumBytes: maximumBytes, ringBytes: ringBytes,
            maximumAge: maximumAge.milliseconds * 1000, application: applicationIdentifier)
    }

    private static func require(_ duration: Duration, in range: ClosedRange<Duration>, _ name: String)
        throws(LogStoreError)
    {
        try require(range.contains(duration), name, "\(duration)", "\(range.lowerBound) to \(range.upperBound)")
    }

    private static func require(_ holds: Bool, _ name: String, _ value: String, _ wanted: String) throws(LogStoreError)
    {
        guard holds else { throw LogStoreError(.invalid, "\(name) is \(value); it must be \(wanted)") }
    }
}

extension Duration {
    fileprivate var milliseconds: Int64 { components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000 }
}
