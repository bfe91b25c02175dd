import ArgumentParser
import ControlSocket
import FoundationEssentials
import Glibc
import WireModel

struct SendCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send", abstract: "Has the running agent upload lines to its collector.",
        discussion: """
            What is there now is cut into chunks and uploaded, also over a restart of the agent or the collector; nothing is deleted here. \
            Where logs may not go over the network as it is now (Wi-Fi only), nothing is begun and the exit code is 75; with --when-allowed \
            they wait for a network over which they may go. With --wait the exit code says what came of it.
            """)

    @Flag(help: "Show how it comes on, and end when the collector has all of it or never will.")
    var wait = false

    @Flag(help: "Where logs may not go over the network as it is now, wait for one over which they may.")
    var whenAllowed = false

    @Option(help: ArgumentHelp("At most so many bytes of text, the newest lines.", valueName: "bytes"))
    var maximumBytes: UInt64 = 0

    @Flag(help: "Print the uploads as JSON.")
    var json = false

    @OptionGroup var filter: FilterOptions
    @OptionGroup var store: StoreOptions

    /// Between two looks at the agent.
    private static let pauseMicroseconds: UInt32 = 300_000

    func run() throws {
        let agent = RunningAgent(directory: try dataDirectory())
        var uploads = try agent.send(request(), whenAllowed: whenAllowed)
        if wait { uploads = try follow(uploads, agent) }
        let summary = SendSummary(uploads)
        var output = StandardOutput()
        if json { try output.json(uploads) } else if !summary.hasFailed { try output.line(summary.text) }
        try output.flush()
        if summary.hasFailed { throw LogCommandError(.failed, summary.text) }
    }

    func request() -> WireRequestLogs {
        let wanted = filter.filter()
        var request = WireRequestLogs()
        request.mode = .snapshot
        request.level = wanted.level.wire
        if let type = filter.type.logType { request.type = type.wire }
        if let since = wanted.since { request.since = since }
        if let until = wanted.until { request.until = until }
        request.categories = wanted.categories
        request.text = wanted.text
        request.maximumBytes = maximumBytes
        request.includeVerboseRing = filter.ring
        return request
    }

    /// The agent's: also where its log store in it was named.
    private func dataDirectory() throws(LogCommandError) -> String {
        guard let given = store.data ?? ProcessInfo.processInfo.environment["WS1_DATA"], !given.isEmpty else {
            throw LogCommandError(.usage, "which agent? Give --data DIR, or set WS1_DATA")
        }
        let path = given.count > 1 && given.hasSuffix("/") ? String(given.dropLast()) : given
        var status = stat()
        if stat(path, &status) != 0, let denial = AccessDenial.text(path, errno) { throw LogCommandError(.failed, "\(denial)") }
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            throw LogCommandError(.failed, "\(path) is no directory: check --data")
        }
        let isStore = path.hasSuffix("/logs") && access("\(path)/../\(ControlSocketPath.name)", F_OK) == 0
        return isStore ? String(path.dropLast("/logs".count)) : path
    }

    private func follow(_ uploads: [LogUploadReport], _ agent: RunningAgent) throws(LogCommandError) -> [LogUploadReport] {
        var uploads = uploads
        var progress = ProgressLine(isShown: !json)
        var told = ""
        while uploads.contains(where: { $0.state == .underWay }) {
            let summary = SendSummary(uploads)
            progress.show(summary.sent, of: summary.chunks, "chunks")
            // What it waits for is said once, also where nobody sees a bar.
            if let detail = summary.waitsFor, detail != told {
                progress.clear()
                StandardError.warn("waiting: \(detail)")
                told = detail
            }
            usleep(Self.pauseMicroseconds)
            uploads = try agent.uploads(uploads)
        }
        progress.clear()
        return uploads
    }
}

extension TypeArgument {
    /// `nil`: all.
    fileprivate var logType: LogType? { LogType(rawValue: rawValue) }
}
