import DataSampler
import FoundationEssentials
import Glibc
import HelperProcesses
import Logging
import Synchronization
import Transmitter

/// Runs a program of this machine's owner on each notice, such as one that mails it or restarts the network.
///
/// Only this machine's configuration names the program; a profile has no such field. The program is started without a
/// shell, one at a time. It gets the notice as one line of JSON on standard input. Of the agent's environment it gets a
/// few harmless variables, since the others may hold the enrollment token. Descriptors of the agent are closed for it.
/// What it writes to standard error goes where the agent's log goes.
///
/// A program that runs longer than the limit is killed with its process group. At most ``maximumWaiting`` notices wait
/// for it; then the oldest are dropped and counted. When the agent stops, the running program is killed, and what waits
/// is left out. A message of a person does not wait among the notices: whoever delivers it waits, hears how the run
/// ended, and may repeat it. Safe from any thread.
final class NoticeHook: Sendable {
    struct Settings: Equatable, Sendable {
        /// An absolute path.
        var program: String
        var arguments: [String]
        /// The limit for one run.
        var limit: Duration
    }

    static let maximumWaiting = 16
    /// How often a running program is looked at.
    private static let look = Duration.milliseconds(50)
    private static let environment = ["PATH", "HOME", "LANG", "TZ"]

    private let settings: Settings
    private let logger: Logger
    private let notices: AsyncStream<DataSamplerNotice>
    private let continuation: AsyncStream<DataSamplerNotice>.Continuation
    private let counts: Mutex<NoticeHookStatus>
    /// One run at a time, of a notice or a message.
    private let turn = AsyncMutex()

    init(_ settings: Settings, logger: Logger) {
        self.settings = settings
        self.logger = logger
        counts = Mutex(NoticeHookStatus(program: settings.program))
        (notices, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(Self.maximumWaiting))
    }

    var status: NoticeHookStatus { counts.withLock { $0 } }

    func receive(_ notice: DataSamplerNotice) {
        guard case .dropped = continuation.yield(notice) else { return }
        counts.withLock { $0.dropped += 1 }
    }

    /// Runs the program on the notices taken from the queue, until its task is cancelled.
    func run() async {
        for await notice in notices {
            do { try await runInTurn(on: NoticeJSON(notice)) } catch is CancellationError { return } catch {
                logger.warning("the notice hook failed", metadata: ["kind": "\(notice.kind)", "reason": "\(error)"])
            }
        }
    }

    /// Runs the program on a message. Returns when the program has exited with 0.
    ///
    /// - Throws: why the program did not take the message; `CancellationError` if the task was cancelled, which kills
    ///   the program.
    func deliver(_ message: DataSamplerMessage) async throws { try await runInTurn(on: NoticeJSON(message)) }

    private func runInTurn(on notice: NoticeJSON) async throws {
        guard await turn.enter() else { throw CancellationError() }
        defer { turn.leave() }
        let failure = await run(on: notice)
        try Task.checkCancellation()
        counts.withLock { counts in
            if let failure {
                counts.failed += 1
                counts.lastFailure = failure
            } else {
                counts.succeeded += 1
            }
        }
        if let failure { throw HookError(failure) }
    }

    /// - Returns: what went wrong; `nil` if the program exited with 0.
    private func run(on notice: NoticeJSON) async -> String? {
        let process: ChildProcess
        do { process = try start(notice) } catch { return "\(error)" }
        let deadline = ContinuousClock.now + settings.limit
        var isKilled = false
        while true {
            if process.reap() { return isKilled ? "killed after \(settings.limit)" : process.ending?.objection }
            if !isKilled, ContinuousClock.now >= deadline || Task.isCancelled {
                isKilled = true
                process.kill()
            }
            // The agent ends. What is left of the program is reaped with the object.
            if Task.isCancelled { return nil }
            try? await Task.sleep(for: Self.look)
        }
    }

    private func start(_ notice: NoticeJSON) throws -> ChildProcess {
        let input = try Self.file(with: notice.line)
        defer { close(input) }
        let variables = Self.environment.compactMap { name in getenv(name).map { "\(name)=\(String(cString: $0))" } }
        do throws(StartFailure) {
            // A hook may start a service that outlives it.
            return try ChildProcess(
                settings.program, settings.arguments, environment: variables, input: .descriptor(input),
                output: .nothing, errors: .inherited, killsGroup: false)
        } catch {
            throw HookError("not started: \(error)")
        }
    }

    /// A pipe that holds the content, and then ends, whether or not the program reads it. A notice is far smaller than
    /// the 64 KiB that a pipe holds.
    private static func file(with content: Data) throws -> Int32 {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw HookError("no pipe for the notice: \(String(cString: strerror(errno)))") }
        defer { close(ends[1]) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
        let written = content.withUnsafeBytes { write(ends[1], $0.baseAddress, $0.count) }
        guard written == content.count else {
            close(ends[0])
            throw HookError("the notice of \(content.count) bytes does not fit into a pipe")
        }
        return ends[0]
    }

    private struct HookError: Error, CustomStringConvertible {
        let description: String

        init(_ description: String) { self.description = description }
    }
}

/// A notice or a message as the program gets it.
private struct NoticeJSON: Encodable {
    var kind: String
    var message: String
    var details: [String: String]
    /// RFC 3339, UTC.
    var time: String

    init(_ notice: DataSamplerNotice) {
        kind = notice.kind.rawValue
        message = notice.message
        details = notice.details
        time = Date().ISO8601Format()
    }

    init(_ message: DataSamplerMessage) {
        kind = DataSamplerNotice.Kind.messageReceived.rawValue
        self.message = "a person sent a message to this device"
        details = ["command": message.id]
        if !message.text.isEmpty { details["text"] = message.text }
        if let payload = message.payload { details["payload"] = payload.base64EncodedString() }
        if let contentType = message.contentType { details["contentType"] = contentType }
        time = Date().ISO8601Format()
    }

    var line: Data {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return try encoder.encode(self) + Data("\n".utf8)
        }
    }
}

/// The outcome of the notices that a program was to get, since the agent's start.
struct NoticeHookStatus: Codable, Equatable, Sendable {
    var program: String
    /// Runs that exited with 0.
    var succeeded: UInt64 = 0
    /// Runs that did not start, exited otherwise, or were killed.
    var failed: UInt64 = 0
    /// Notices that were left out because too many waited.
    var dropped: UInt64 = 0
    var lastFailure: String?

    init(program: String) { self.program = program }
}

/// The running agent's status: the sampler's and the agent's own, as one JSON object.
struct AgentStatus: Codable {
    var sampler: DataSamplerStatus
    /// `nil`: no program is configured, or no agent runs.
    var noticeHook: NoticeHookStatus?

    private enum Key: String, CodingKey {
        case noticeHook
    }

    init(sampler: DataSamplerStatus, noticeHook: NoticeHookStatus?) {
        self.sampler = sampler
        self.noticeHook = noticeHook
    }

    init(from decoder: any Decoder) throws {
        sampler = try DataSamplerStatus(from: decoder)
        noticeHook = try decoder.container(keyedBy: Key.self).decodeIfPresent(
            NoticeHookStatus.self, forKey: .noticeHook)
    }

    func encode(to encoder: any Encoder) throws {
        try sampler.encode(to: encoder)
        var container = encoder.container(keyedBy: Key.self)
        try container.encodeIfPresent(noticeHook, forKey: .noticeHook)
    }
}
