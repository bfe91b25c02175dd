import Glibc
import Synchronization
import WireModel

/// A program's log on disk: lines with a level, in segments that are compressed, bounded in size and age, and read by
/// `ws1log`, by requests of the collector and by whoever has the directory.
///
///     let store = try LogStore(.init(directory: "/var/lib/kiosk/logs", applicationName: "kiosk"))
///     store.warning("printer is low on paper", category: "printer", metadata: ["tray": "2"])
///
/// **Threads.** Every call may be made from any thread. A call takes well under a microsecond, next to nothing if its
/// level is filtered out (the message is not evaluated then), and never waits for the disk below level error.
///
/// **Durability.** A line at level error is with the kernel when the call returns, and with it every line logged
/// before: a crash of the process loses none of them. A less severe one waits in memory for `flushInterval` at most.
/// Nothing is synced for each line: a power cut may take what the kernel had not written yet (sealed segments are
/// synced).
///
/// **Never in the way.** No call fails, and none but those at level error and `flush()` waits for the disk. What cannot
/// be written is dropped and counted by level and reason in `status`, and a warning of category `log.store` tells of it
/// as soon as there is room. When lines come faster than the disk takes them, 8 MiB of them wait in memory; verbose
/// lines are dropped when half of that is used, information at three quarters, warnings when it is full.
///
/// **Several programs** may give the same directory; each writes segments of its own, and what a program that died has
/// left is sealed by the next that opens the store. A process that forks without `exec` must not log in the child.
public final class LogStore: Sendable {
    /// Given by the configuration; the first part of the names of fetched chunks.
    public let applicationName: String
    /// As the configuration said it.
    package let ownScrubbing: LogScrubbing
    package let directory: StoreDirectory
    let keeper: StoreKeeper
    let writer: LogWriter
    private let session: SessionKeeper
    private let rules: Atomic<Int>
    private let scrubber: ShortLock<LineScrubber?>

    /// Opens the store. A directory that cannot be written is no error: `status.failure` says so, and lines are counted
    /// as lost until it can.
    /// - Throws: `.invalid` for a configuration or scrub rules out of range, `.io` if there is no room for a thread.
    public init(_ configuration: Configuration) throws(LogStoreError) {
        try configuration.check()
        let scrubber = try LineScrubber(configuration.scrubbing)
        applicationName = configuration.applicationName
        ownScrubbing = configuration.scrubbing
        directory = StoreDirectory(path: configuration.directory)
        keeper = configuration.keeper
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
    ///   - level: how severe it is.
    ///   - message: any text; evaluated only if the level is logged. With all else a line has at most 65,536 bytes; a
    ///     longer one ends in `…[+N]`, N being the bytes left out.
    ///   - category: what part of the program speaks, e.g. `app.network`; at most 128 bytes. Spaces and control
    ///     characters become `_`.
    ///   - metadata: evaluated like the message; sorted by key on disk.
    public func log(
        _ level: LogLevel, _ message: @autoclosure () -> String, category: String = "",
        metadata: @autoclosure () -> [String: String] = [:]
    ) {
        let word = rules.load(ordering: .relaxed)
        guard CaptureRules.takes(level, word) else { return }
        take(level, word, category, message(), metadata())
    }

    /// Logs a line at level error: it is with the kernel when this returns. Parameters as in `log`.
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

    /// Returns when every line logged before is with the kernel, or counted as lost. Waits for the disk.
    public func flush() { writer.flush() }

    /// Erases every line that is kept here, of all programs that write here: segments, crash logs, the ring. What is
    /// erased counts as deleted. Waits for the disk.
    /// - Throws: what stopped it; the rest is there still.
    package func erase() throws(LogStoreError) {
        flush()
        do { try keeper.eraseAll() } catch {
            // No directory, nothing to erase.
            guard error.code == .notFound else { throw error }
        }
        writer.letGoOfRemoved()
    }

    // MARK: - Rules

    /// The least severe level that is written; `nil`: nothing is, not even into the ring. A change holds from the next
    /// call on.
    public var level: LogLevel? {
        get { CaptureRules(word: rules.load(ordering: .relaxed)).level }
        set { change { $0.level = newValue } }
    }

    /// The least severe level at which a call has any effect, the ring included.
    var capturedLevel: LogLevel? {
        let rules = CaptureRules(word: rules.load(ordering: .relaxed))
        return rules.level == nil || !rules.hasRing ? rules.level : .verbose
    }

    /// What holds for a line that comes now.
    var capture: (rules: CaptureRules, scrubber: LineScrubber?) {
        let rules = CaptureRules(word: self.rules.load(ordering: .acquiring))
        return (rules, rules.isScrubbing ? scrubber.withLock { $0 } : nil)
    }

    /// Replaces what is scrubbed, from the next call on. Lines already taken stay as they are.
    /// - Throws: `.invalid` for rules out of range; the former ones stay in force.
    public func setScrubbing(_ scrubbing: LogScrubbing) throws(LogStoreError) {
        let new = try LineScrubber(scrubbing)
        // First the rules, then the sign that there are some: no line passes between the two.
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

    /// Writes what waits, seals the segments and ends the store's thread. Lines logged afterwards are counted as lost.
    /// A store that is let go without it writes what waits, and its segments are sealed by whoever opens the directory
    /// next.
    public func close() async {
        await withCheckedContinuation { continuation in writer.stop(sealing: true) { continuation.resume() } }
    }

    /// Returns when the crash logs of sessions that ended before this store was opened are written.
    package func crashesReported() async { await session.crashesReported() }

    // MARK: - From call to line

    private func take(
        _ level: LogLevel, _ word: Int, _ category: String, _ message: String, _ metadata: [String: String]
    ) {
        let time = SystemClock.wallMicroseconds()
        let isRing = CaptureRules.isRing(level, word)
        if !CaptureRules.isScrubbing(word),
            takeShort(time, level, isRing, category.isEmpty ? Self.noCategory : category, message, metadata)
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

    /// The short way: what needs no escape is copied from where it lies into the memory of waiting lines; with fields,
    /// over the stack.
    /// - Returns: `false` if it has to go the long way.
    private func takeShort(
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
    /// What there is of a store, and what is lost.
    public struct Status: Sendable {
        /// On disk, of all programs that write into the directory, without the ring.
        public var bytes: Int
        /// Bytes of the ring on disk.
        public var ringBytes: Int
        /// Segments on disk, the ring's too.
        public var segments: Int
        /// Lines this program has handed to the kernel since it opened the store.
        public var written: LogLevelCounts
        /// Lines that are not, or no longer, in the store, ever and of all programs, by reason.
        public var dropped: [LogDropReason: LogLevelCounts]
        /// Lines of this program in memory.
        public var waiting: LogLevelCounts
        /// Memory they take.
        public var waitingBytes: Int
        /// Why the last lines could not be written; `nil`: they could.
        public var failure: LogStoreError?
    }

    /// As things stand now. Reads the directory, so not for every second; waits while another thread writes.
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

    /// How a store is opened.
    public struct Configuration: Sendable {
        /// Where its files lie. Made, with mode 0700, where it is missing. Several programs may give the same one.
        public var directory: String
        /// The program's name; the first part of the names of chunks that are fetched.
        public var applicationName: String
        /// The program's version, in its crash logs.
        public var applicationVersion = ""
        /// The least severe level that is written; `nil`: nothing is. Default: information.
        public var level: LogLevel? = .information
        /// How long a line below error may wait in memory: the most that a crash of the process loses. Default 1 s, up
        /// to 60 s; zero: each call hands its line to the kernel before it returns.
        public var flushInterval: Duration = .seconds(1)
        /// Of all segments but those of the ring, on disk. Default 50,000,000; at least 1,000,000.
        public var maximumBytes = 50_000_000
        /// Of segments: how long after their last line they are kept. Default 14 days; a minute to 3,650 days.
        public var maximumAge: Duration = .seconds(14 * 86_400)
        /// Of the ring on disk: lines less severe than `level` go there, for requests that ask for them. Default
        /// 5,000,000; 0: there is none, and a filtered line costs next to nothing. At least 100,000 otherwise.
        public var ringBytes = 5_000_000
        /// After so long a segment is sealed, also if it is not full. Default a day; a minute to 30 days.
        public var segmentAge: Duration = .seconds(86_400)
        /// What is replaced in every line before it is kept anywhere.
        public var scrubbing = LogScrubbing()

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
    /// A ring of a few segments, so that what goes is a part of it.
    private static let ringSegments = 5
    /// Memory for lines that wait, twice: for those that come and those that are being written.
    private static let waitingBytes = 8 << 20

    func check() throws(LogStoreError) {
        try Self.require(!directory.isEmpty, "directory", "empty", "a path")
        try Self.require(!applicationName.isEmpty, "applicationName", "empty", "a name")
        try Self.require(flushInterval, in: .zero ... .seconds(60), "flushInterval")
        try Self.require(maximumBytes >= 1_000_000, "maximumBytes", "\(maximumBytes)", "at least 1000000")
        try Self.require(maximumAge, in: .seconds(60) ... .seconds(3650 * 86_400), "maximumAge")
        try Self.require(ringBytes == 0 || ringBytes >= 100_000, "ringBytes", "\(ringBytes)", "0 or at least 100000")
        try Self.require(segmentAge, in: .seconds(60) ... .seconds(30 * 86_400), "segmentAge")
    }

    var writerSettings: LogWriter.Settings {
        LogWriter.Settings(
            flushMilliseconds: flushInterval.milliseconds, segmentBytes: LogLimits.chunkBytes,
            ringSegmentBytes: min(LogLimits.chunkBytes, max(LogLimits.lineBytes, ringBytes / Self.ringSegments)),
            segmentAgeMilliseconds: segmentAge.milliseconds, waiting: WaitingLimits(bytes: Self.waitingBytes))
    }

    /// This process's session, from now on.
    var session: SessionRecord {
        SessionRecord(
            application: applicationName, version: applicationVersion, process: getpid(), bootID: SystemClock.bootID(),
            started: SystemClock.wallMicroseconds(),
            backtraces: Backtraces.path(from: getenv("SWIFT_BACKTRACE").map { String(cString: $0) }))
    }

    var keeper: StoreKeeper {
        StoreKeeper(
            directory: StoreDirectory(path: directory), maximumBytes: maximumBytes, ringBytes: ringBytes,
            maximumAge: maximumAge.milliseconds * 1000)
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
