import WireModel

/// A program's session, as its marker on disk tells it: who ran, since when, and into which segments it wrote. Schemas/logs/FORMAT.md has the form.
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

    /// Everything up to the first segment.
    var text: String {
        var lines = [
            Self.head, "application \(Self.oneLine(application))", "version \(Self.oneLine(version))", "process \(process)",
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

    /// Reads what is there; a line that is cut off or unknown is passed over. `nil` without head, application and process.
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
        guard let application = values["application"], let process = values["process"].flatMap(Int32.init) else { return nil }
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

    init(application: String, version: String, process: Int32, bootID: String?, started: Int64, backtraces: String?) {
        self.application = application
        self.version = version
        self.process = process
        self.bootID = bootID
        self.started = started
        self.backtraces = backtraces
    }

    private static func oneLine(_ text: String) -> String { String(text.map { $0.isNewline ? " " : $0 }) }
    private static func oneWord(_ text: String) -> String { String(text.map { $0.isWhitespace ? "_" : $0 }) }
}
