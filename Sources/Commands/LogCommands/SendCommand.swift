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

    /// The agent's data directory, even if `--data` names the log store in it.
    private func dataDirectory() throws(LogCommandError) -> String {
        let path = try store.path(of: "agent")
        let isStore = path.hasSuffix("/logs") && access("\(path)/../\(ControlSocketPath.name)", F_OK) == 0
        return isStore ? String(path.dropLast("/logs".count)) : path
    }

    private func follow(_ uploads: [LogUploadReport], _ agent: RunningAgent) throws(LogCommandError)
        -> [LogUploadReport]
    {
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

/// The agent that runs in a data directory, asked through its control socket. Blocks.
struct RunningAgent {
    let directory: String

    /// Has it upload what a request asks for.
    /// - Returns: the uploads; none where no line was found.
    func send(_ logs: WireRequestLogs, whenAllowed: Bool) throws(LogCommandError) -> [LogUploadReport] {
        var request = WireControlRequest()
        request.sendLogs.request = logs
        request.sendLogs.whenAllowed = whenAllowed
        return try ask(
            request,
            noAgent:
                "no agent runs in \(directory): start it, or check --data. ws1log fetch copies the lines without one")
    }

    /// How uploads do now, in their order. One that ended so long ago that the agent no longer tells of it has failed.
    func uploads(_ former: [LogUploadReport]) throws(LogCommandError) -> [LogUploadReport] {
        var request = WireControlRequest()
        request.logUploads.ids = former.compactMap { UploadID($0.id)?.data }
        let now = try ask(request, noAgent: "the agent in \(directory) has ended: the uploads go on when it runs again")
        return former.map { upload in
            if let known = now.first(where: { $0.id == upload.id }) { return known }
            var upload = upload
            if upload.state == .underWay {
                (upload.state, upload.detail) = (.failed, "the agent knows nothing of it any more")
            }
            return upload
        }
    }

    private func ask(_ request: WireControlRequest, noAgent: String) throws(LogCommandError) -> [LogUploadReport] {
        let answer: WireControlAnswer
        do throws(ControlError) {
            guard let given = try ControlClient(directory: directory).askBlocking(request) else {
                throw ControlError(.tryAgain, noAgent)
            }
            answer = try given.succeeding()
        } catch {
            throw LogCommandError(error)
        }
        do { return try JSONDecoder().decode([LogUploadReport].self, from: answer.json) } catch {
            throw LogCommandError(.failed, "the agent's answer cannot be read: it is of another version", cause: error)
        }
    }
}

/// What became of several uploads together, in words. Pure.
struct SendSummary {
    private let uploads: [LogUploadReport]

    init(_ uploads: [LogUploadReport]) { self.uploads = uploads }

    var chunks: Int { uploads.reduce(0) { $0 + $1.chunks } }
    var sent: Int { uploads.reduce(0) { $0 + $1.sent } }
    private var gone: Int { uploads.reduce(0) { $0 + $1.gone } }
    private var bytes: Int { Int(clamping: uploads.reduce(UInt64(0)) { $0 + $1.bytes }) }

    /// Why nothing goes at the moment; `nil`: it goes.
    var waitsFor: String? { uploads.first { $0.state == .underWay && !$0.detail.isEmpty }?.detail }

    var hasFailed: Bool { failed != nil }

    private var failed: LogUploadReport? { uploads.first { $0.state == .failed || $0.state == .cancelled } }

    var text: String {
        guard !uploads.isEmpty else { return "no line matches: there is nothing to send" }
        let what = "\(CountText.of(chunks, "chunk")), \(ByteText.of(bytes)) of text"
        if let failed {
            return "\(what): not sent whole: \(failed.detail.isEmpty ? failed.state.rawValue : failed.detail)"
        }
        guard uploads.allSatisfy({ $0.state == .done }) else {
            return "\(what): on the way" + (waitsFor.map { "; waiting: \($0)" } ?? "")
        }
        return "\(what): the collector has it"
            + (gone == 0 ? "" : ", but for \(gone) that fell to a limit of the store before they were sent")
    }
}
