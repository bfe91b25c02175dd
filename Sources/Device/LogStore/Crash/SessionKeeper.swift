import Glibc
import Synchronization
import TelemetryBasics
import WireModel

/// Keeps the marker of this process's session, and reports sessions that ended without closing. Safe from any thread.
/// Calls block for moments.
final class SessionKeeper: Sendable {
    private struct State: ~Copyable {
        var marker: SessionMarker?
        var hasEnded = false
        var scrubber: LineScrubber?
        /// Callers that wait for the first search; `nil` once it is done.
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

    /// Makes the session's marker. If the directory cannot be written now, the first segment tries again.
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

    /// The session ends in order: removes its marker.
    func end() {
        state.withLock { state in
            state.hasEnded = true
            state.marker?.close()
            state.marker = nil
        }
    }

    func scrub(with scrubber: LineScrubber?) { state.withLock { $0.scrubber = scrubber } }

    /// Writes the crash logs that are due. A later call retries what fails.
    func reportCrashes() {
        let scrubber = state.withLock { $0.scrubber }
        _ = try? CrashReporter(directory: directory, bootID: record.bootID, scrubber: scrubber).reportAll()
        let waiters = state.withLock { state in
            defer { state.waiters = nil }
            return state.waiters ?? []
        }
        for waiter in waiters { waiter() }
    }

    /// Returns when the first search is done.
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

/// The marker of a running session, `<ordinal>.session`. The process holds it with `flock` until it ends. Use it from
/// one thread at a time.
final class SessionMarker {
    static let suffix = ".session"
    /// Limit of a marker. A program that runs for years begins many segments, but only the last ones are ever read.
    private static let maximumBytes = 64 * 1024

    let ordinal: UInt64
    private let directory: StoreDirectory
    private let file: OpenFile<LogStoreError>
    private let head: String
    private var bytes = 0

    static func name(_ ordinal: UInt64) -> String { SegmentName.digits(ordinal) + suffix }

    /// The ordinal in a marker's name; `nil` for the name of another file.
    static func ordinal(of name: String) -> UInt64? {
        guard name.hasSuffix(suffix), let ordinal = UInt64(name.dropLast(suffix.count)),
            ordinal < SegmentName.greatestOrdinal, Self.name(ordinal) == name
        else { return nil }
        return ordinal
    }

    /// Reserves an ordinal. If the session crashes, its crash log uses that ordinal.
    init(_ record: SessionRecord, in directory: StoreDirectory) throws(LogStoreError) {
        self.directory = directory
        head = record.text
        // The marker must be locked before the store's lock is released, because others look for crashes under the
        // store's lock.
        var ordinal: UInt64 = 0
        file = try directory.withState { (state) throws(LogStoreError) in
            ordinal = state.next
            state.next += 1
            let path = directory.path(Self.name(ordinal))
            var file = try OpenFile<LogStoreError>(path, O_RDWR | O_APPEND | O_CREAT | O_EXCL)
            guard try file.lock() else { throw LogStoreError(FileError("locking", path, EWOULDBLOCK)) }
            GroupAccess.handOn(file.descriptor, path)
            return file
        }
        self.ordinal = ordinal
        try file.write(Array(head.utf8))
        bytes = head.utf8.count
    }

    /// Records a new segment. If that fails, a crash log has fewer last lines, and nothing else is lost.
    func began(segment ordinal: UInt64) {
        let line = SessionRecord.segmentLine(ordinal)
        if bytes + line.utf8.count > Self.maximumBytes {
            guard ftruncate(file.descriptor, 0) == 0, (try? file.write(Array(head.utf8))) != nil else { return }
            bytes = head.utf8.count
        }
        if (try? file.write(Array(line.utf8))) != nil { bytes += line.utf8.count }
    }

    /// Removes the marker, because the session ended in order.
    func close() { try? directory.remove(Self.name(ordinal)) }
}

/// A program's session as its marker describes it: which program ran, since when, and which segments it wrote.
/// `Schemas/logs/FORMAT.md` defines the format.
struct SessionRecord: Equatable, Sendable {
    /// How the program ended, by systemd's `$EXIT_CODE`, `$EXIT_STATUS` and `$SERVICE_RESULT`.
    struct Exit: Equatable, Sendable {
        /// `exited`, `killed` or `dumped`.
        var code: String
        /// An exit status, or a signal's name.
        var status: String
        /// The result, for example `success`, `oom-kill` or `watchdog`.
        var result: String
    }

    static let head = "ws1log-session 1"

    /// The program's name.
    var application: String
    /// The bundle id that its segments carry.
    var applicationIdentifier = ""
    var version: String
    var process: Int32
    /// `nil` if the kernel does not report it.
    var bootID: String?
    /// Microseconds since 1970.
    var started: Int64
    /// Where Swift's backtracer writes: a directory or a file. `nil` if it is off or writes to a stream.
    var backtraces: String?
    /// Ordinals of the segments it wrote, in order. Only the last ones if there are many.
    var segments: [UInt64] = []
    var exit: Exit?
}

extension SessionRecord {
    /// The marker's text without segments and exit.
    var text: String {
        var lines = [
            Self.head, "application \(Self.oneLine(application))", "version \(Self.oneLine(version))",
            "process \(process)", "started \(started)",
        ]
        if !applicationIdentifier.isEmpty { lines.append("identifier \(Self.oneLine(applicationIdentifier))") }
        if let bootID { lines.append("boot \(Self.oneLine(bootID))") }
        if let backtraces, !backtraces.contains("\n") { lines.append("backtraces \(backtraces)") }
        return lines.map { $0 + "\n" }.joined()
    }

    /// The line that is appended for a new segment.
    static func segmentLine(_ ordinal: UInt64) -> String { "segment \(ordinal)\n" }

    /// The line that is appended by the process that saw the session end.
    static func exitLine(_ exit: Exit) -> String {
        "exit \([exit.code, exit.status, exit.result].map { $0.isEmpty ? "-" : oneWord($0) }.joined(separator: " "))\n"
    }

    /// Reads a marker. Lines that are cut off or unknown are ignored. `nil` if the head, the application or the process
    /// is missing.
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
        applicationIdentifier = values["identifier"] ?? ""
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
