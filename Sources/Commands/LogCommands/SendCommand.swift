import ArgumentParser
import CommandKit
import ControlSocket
import FoundationEssentials
import Glibc
import TelemetryBasics
import WireModel

struct SendCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send", abstract: "Makes the running agent upload lines to its collector.",
        discussion: """
            The agent cuts the lines that are there now into chunks and uploads them. It goes on after a restart of \
            the agent or the collector, and deletes nothing. If the present network may not carry logs (Wi-Fi only), \
            the agent begins nothing and the exit code is 75; with --when-allowed it waits for a network that may. \
            With --wait the exit code tells the result.
            """)

    @Flag(help: "Show the progress, and end when the collector has everything or never will.")
    var wait = false

    @Flag(help: "If the present network may not carry logs, wait for one that may.")
    var whenAllowed = false

    @Option(help: ArgumentHelp("At most this many bytes of text, the newest lines.", valueName: "bytes"))
    var maximumBytes: UInt64 = 0

    @Flag(help: "Print the uploads as JSON.")
    var json = false

    @OptionGroup var filter: FilterOptions
    @OptionGroup var store: StoreOptions

    /// The pause between two questions to the agent.
    private static let pauseMicroseconds: UInt32 = 300_000

    func run() throws {
        let agent = RunningAgent(directory: try dataDirectory())
        var uploads = try agent.send(request(), whenAllowed: whenAllowed)
        if wait { uploads = try follow(uploads, agent) }
        let summary = SendSummary(uploads)
        if json { try Output.json(uploads) } else if !summary.hasFailed { try Output.line(summary.text) }
        if summary.hasFailed { throw CommandError(.failed, summary.text) }
    }

    func request() -> WireRequestLogs {
        let wanted = filter.filter()
        var request = WireRequestLogs()
        request.mode = .snapshot
        request.level = wanted.level.wire
        if let type = LogType(rawValue: filter.type.rawValue) { request.type = type.wire }
        if let since = wanted.since { request.since = since }
        if let until = wanted.until { request.until = until }
        request.application = filter.application.identifier ?? ""
        request.categories = wanted.categories
        request.text = wanted.text
        request.maximumBytes = maximumBytes
        request.includeVerboseRing = filter.includesRing
        return request
    }

    /// The agent's data directory, even if `--data` names the log store in it.
    private func dataDirectory() throws(CommandError) -> String {
        let path = try store.path()
        let isStore = path.hasSuffix("/logs") && Paths.exists("\(path)/../\(ControlSocketPath.name)")
        return isStore ? String(path.dropLast("/logs".count)) : path
    }

    private func follow(_ uploads: [LogUploadReport], _ agent: RunningAgent) throws(CommandError)
        -> [LogUploadReport]
    {
        var uploads = uploads
        var progress = ProgressLine(isShown: !json)
        var reported = ""
        while uploads.contains(where: { $0.state == .underWay }) {
            let summary = SendSummary(uploads)
            progress.show(summary.sent, of: summary.chunks, "chunks")
            // Each reason to wait is reported once, even if the progress line is not shown.
            if let detail = summary.waitsFor, detail != reported {
                progress.clear()
                StandardError.warn("waiting: \(detail)")
                reported = detail
            }
            usleep(Self.pauseMicroseconds)
            uploads = try agent.uploads(uploads)
        }
        progress.clear()
        return uploads
    }
}

/// The agent that runs in a data directory. Its control socket answers; each call blocks.
struct RunningAgent {
    let directory: String

    /// Makes it upload the lines that a request asks for.
    /// - Returns: the uploads; none if no line matches.
    func send(_ logs: WireRequestLogs, whenAllowed: Bool) throws(CommandError) -> [LogUploadReport] {
        var request = WireControlRequest()
        request.sendLogs.request = logs
        request.sendLogs.whenAllowed = whenAllowed
        return try ask(
            request,
            noAgent:
                """
                no agent runs in \(directory): start it, or check --data. ws1log fetch copies the lines without an agent
                """
        )
    }

    /// The present state of uploads, in their order. An upload that the agent no longer knows has failed.
    func uploads(_ former: [LogUploadReport]) throws(CommandError) -> [LogUploadReport] {
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

    private func ask(_ request: WireControlRequest, noAgent: String) throws(CommandError) -> [LogUploadReport] {
        let answer: WireControlAnswer?
        do throws(ControlError) {
            answer = try ControlClient(directory: directory).askBlocking(request)?.succeeding()
        } catch { throw CommandError(error) }
        guard let answer else { throw CommandError(.tryAgain, noAgent) }
        do { return try JSONDecoder().decode([LogUploadReport].self, from: answer.json) } catch {
            throw CommandError(
                .failed, "the agent's answer cannot be read: the agent has another version", cause: error)
        }
    }
}

/// The state of several uploads together, in words.
struct SendSummary {
    private let uploads: [LogUploadReport]

    init(_ uploads: [LogUploadReport]) { self.uploads = uploads }

    var chunks: Int { uploads.reduce(0) { $0 + $1.chunks } }
    var sent: Int { uploads.reduce(0) { $0 + $1.sent } }
    private var gone: Int { uploads.reduce(0) { $0 + $1.gone } }
    private var bytes: Int { Int(clamping: uploads.reduce(UInt64(0)) { $0 + $1.bytes }) }

    /// Why an upload waits; `nil` if none does.
    var waitsFor: String? { uploads.first { $0.state == .underWay && !$0.detail.isEmpty }?.detail }

    var hasFailed: Bool { failed != nil }

    private var failed: LogUploadReport? { uploads.first { $0.state == .failed || $0.state == .cancelled } }

    var text: String {
        guard !uploads.isEmpty else { return "no line matches: there is nothing to send" }
        let what = "\(CountText.of(chunks, "chunk")), \(ByteText.of(bytes)) of text"
        if let failed {
            return "\(what): not sent completely: \(failed.detail.isEmpty ? failed.state.rawValue : failed.detail)"
        }
        guard uploads.allSatisfy({ $0.state == .done }) else {
            return "\(what): on the way" + (waitsFor.map { "; waiting: \($0)" } ?? "")
        }
        return "\(what): the collector has it"
            + (gone == 0 ? "" : ", except \(gone) that the store deleted at a limit before they were sent")
    }
}
