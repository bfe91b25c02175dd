import Glibc
import Synchronization
import WireModel

/// This process's session in a store, and those that ended without closing. Safe from any thread; blocks for moments.
final class SessionKeeper: Sendable {
    private struct State: ~Copyable {
        var marker: SessionMarker?
        var hasEnded = false
        var scrubber: LineScrubber?
        /// `nil`: they were looked for.
        var waiters: [@Sendable () -> Void]? = []
    }

    private let record: SessionRecord
    private let directory: StoreDirectory
    private let state: Mutex<State>

    init(_ record: SessionRecord, in directory: StoreDirectory) {
        self.record = record
        self.directory = directory
        state = Mutex(State())
    }

    /// Marks the session. Where the directory cannot be written now, the first segment tries it again.
    func begin() {
        state.withLock { state in
            guard state.marker == nil, !state.hasEnded else { return }
            state.marker = try? SessionMarker(record, in: directory)
        }
    }

    func began(_ segment: SegmentName) {
        begin()
        state.withLock { $0.marker?.began(segment: segment.ordinal) }
    }

    /// It ended as it should.
    func end() {
        state.withLock { state in
            state.hasEnded = true
            state.marker?.close()
            state.marker = nil
        }
    }

    func scrub(with scrubber: LineScrubber?) { state.withLock { $0.scrubber = scrubber } }

    /// Writes the crash logs that are due. What fails is tried again the next time.
    func reportCrashes() {
        let scrubber = state.withLock { $0.scrubber }
        _ = try? CrashReporter(directory: directory, bootID: record.bootID, scrubber: scrubber).reportAll()
        let waiters = state.withLock { state in
            defer { state.waiters = nil }
            return state.waiters ?? []
        }
        for waiter in waiters { waiter() }
    }

    /// Returns when they were looked for once.
    func crashesReported() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                state.waiters?.append { continuation.resume() }
                return state.waiters == nil
            }
            if isOver { continuation.resume() }
        }
    }
}

/// The marker of a session that runs: `<ordinal>.session`, held with `flock` until it goes. Safe from one thread at a
/// time.
final class SessionMarker {
    static let suffix = ".session"
    /// A program that runs for years begins many segments; only the last ones are ever read.
    private static let maximumBytes = 64 * 1024

    let ordinal: UInt64
    private let directory: StoreDirectory
    private let file: StoreFile
    private let head: String
    private var bytes = 0

    static func name(_ ordinal: UInt64) -> String { SegmentName.digits(ordinal) + suffix }

    /// Reads the ordinal of a marker's name; `nil` for another file.
    static func ordinal(of name: String) -> UInt64? {
        guard name.hasSuffix(suffix), let ordinal = UInt64(name.dropLast(suffix.count)), Self.name(ordinal) == name
        else { return nil }
        return ordinal
    }

    /// Takes an ordinal, which is that of the session's crash log if there ever is one.
    init(_ record: SessionRecord, in directory: StoreDirectory) throws(LogStoreError) {
        self.directory = directory
        head = record.text
        // Held when the store's lock is let go, under which others look for crashes.
        let made = try directory.withState { (state) throws(LogStoreError) in
            let ordinal = state.next
            state.next += 1
            let path = directory.path(Self.name(ordinal))
            let descriptor = open(path, O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            guard descriptor >= 0, flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                throw LogStoreError.system("creating", path)
            }
            GroupAccess.handOn(descriptor, path)
            return (ordinal: ordinal, descriptor: descriptor, path: path)
        }
        ordinal = made.ordinal
        file = StoreFile(descriptor: made.descriptor, path: made.path)
        try file.write(Array(head.utf8))
        bytes = head.utf8.count
    }

    deinit { flock(file.descriptor, LOCK_UN) }

    /// A segment was begun. Where it cannot be noted the crash log has fewer last lines, nothing else.
    func began(segment ordinal: UInt64) {
        let line = SessionRecord.segmentLine(ordinal)
        if bytes + line.utf8.count > Self.maximumBytes {
            guard ftruncate(file.descriptor, 0) == 0, (try? file.write(Array(head.utf8))) != nil else { return }
            bytes = head.utf8.count
        }
        if (try? file.write(Array(line.utf8))) != nil { bytes += line.utf8.count }
    }

    /// The session ended as it should.
    func close() { try? directory.remove(Self.name(ordinal)) }
}

/// A program's session, as its marker on disk tells it: who ran, since when, and into which segments it wrote.
/// Schemas/logs/FORMAT.md has the form.
struct SessionRecord: Equatable, Sendable {
    /// How the supervisor says that the program ended: systemd's `$EXIT_CODE`, `$EXIT_STATUS` and `$SERVICE_RESULT`.
    struct Exit: Equatable, Sendable {
        /// `exited`, `killed` or `dumped`.
        var code: String
        /// An exit status or the name of a signal.
        var status: String
        /// `success`, `oom-kill`, `watchdog` and the like.
        var result: String
    }

    static let head = "ws1log-session 1"

    var application: String
    var version: String
    var process: Int32
    /// `nil` where the kernel does not tell.
    var bootID: String?
    /// Microseconds since 1970.
    var started: Int64
    /// Where Swift's backtracer puts what it writes: a directory or a file; `nil`: it writes to a stream, or is off.
    var backtraces: String?
    /// Ordinals of the segments it wrote, in order; the last ones of many.
    var segments: [UInt64] = []
    var exit: Exit?
}

extension SessionRecord {
    /// Everything up to the first segment.
    var text: String {
        var lines = [
            Self.head, "application \(Self.oneLine(application))", "version \(Self.oneLine(version))",
            "process \(process)",
            "started \(started)",
        ]
        if let bootID { lines.append("boot \(Self.oneLine(bootID))") }
        if let backtraces, !backtraces.contains("\n") { lines.append("backtraces \(backtraces)") }
        return lines.map { $0 + "\n" }.joined()
    }

    /// Appended when a segment is begun.
    static func segmentLine(_ ordinal: UInt64) -> String { "segment \(ordinal)\n" }

    /// Appended by whoever saw it end.
    static func exitLine(_ exit: Exit) -> String {
        "exit \([exit.code, exit.status, exit.result].map { $0.isEmpty ? "-" : oneWord($0) }.joined(separator: " "))\n"
    }

    /// Reads what is there; a line that is cut off or unknown is passed over. `nil` without head, application and
    /// process.
    init?(reading text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.first.map(String.init) == Self.head else { return nil }
        var values: [Substring: String] = [:]
        var segments: [UInt64] = []
        // What follows the last newline was cut off.
        for line in lines.dropFirst().dropLast() {
            guard let space = line.firstIndex(of: " ") else { continue }
            let value = line[line.index(after: space)...]
            if line[..<space] == "segment" {
                if let ordinal = UInt64(value) { segments.append(ordinal) }
            } else {
                values[line[..<space]] = String(value)
            }
        }
        guard let application = values["application"], let process = values["process"].flatMap(Int32.init) else {
            return nil
        }
        self.application = application
        self.process = process
        version = values["version"] ?? ""
        bootID = values["boot"]
        started = values["started"].flatMap(Int64.init) ?? 0
        backtraces = values["backtraces"]
        self.segments = segments
        let words = values["exit"]?.split(separator: " ").map { $0 == "-" ? "" : String($0) } ?? []
        if words.count == 3 { exit = Exit(code: words[0], status: words[1], result: words[2]) }
    }

    private static func oneLine(_ text: String) -> String { String(text.map { $0.isNewline ? " " : $0 }) }
    private static func oneWord(_ text: String) -> String { String(text.map { $0.isWhitespace ? "_" : $0 }) }
}
