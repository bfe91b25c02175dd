import Dispatch
import FoundationEssentials
import Glibc
import WireModel

/// Follows a request until it has ended, the limit is over, or somebody interrupts.
struct RequestWait {
    private let id: String
    private let client: CollectorClient
    private let limitSeconds: Int64?
    private let isQuiet: Bool
    /// When the device is expected to take it, as it was known at the beginning.
    private let expected: DeviceExpectation?

    init(_ id: String, _ client: CollectorClient, limitSeconds: Int64?, isQuiet: Bool, expected: DeviceExpectation?) {
        self.expected = expected
        self.id = id
        self.client = client
        self.limitSeconds = limitSeconds
        self.isQuiet = isQuiet
    }

    /// What to say to who waits no longer.
    private var remedy: String { "request \(id) goes on; wait for it with: ws1log request --id \(id) --wait, end it with --cancel \(id)" }

    /// - Returns: the request as it was done.
    /// - Throws: `.failed` where it ended otherwise, `.tryAgain` where the limit is over.
    func run(from command: RemoteCommand) async throws -> RemoteCommand {
        let interruption = Self.onInterruption(remedy)
        defer { interruption.cancel() }
        var progress = ProgressLine(isShown: !isQuiet)
        defer { progress.clear() }
        let begun = Clock.monotonicNanoseconds
        var command = command
        var looks = 0
        while true {
            let standing = RequestStanding(command)
            switch standing.meaning {
            case .done: return command
            case .failed(let reason): throw LogCommandError(.failed, "request \(id) \(reason)")
            case .pending:
                let waits = command.isQueued ? expected.map { ": \($0.text(now: Clock.microseconds))" } ?? "" : ""
                progress.show(standing.progress, standing.text + waits)
            }
            let waited = Int64((Clock.monotonicNanoseconds - begun) / 1_000_000_000)
            let pause = RequestStanding.pauseSeconds(after: looks)
            guard limitSeconds.map({ waited + pause <= $0 }) ?? true else {
                throw LogCommandError(.tryAgain, "not ended after \(waited) s (\(standing.text)): \(remedy)")
            }
            try await Task.sleep(for: .seconds(pause))
            looks += 1
            do throws(LogCommandError) {
                command = try await client.get("/api/v1/devices/\(client.device)/commands/\(id)")
            } catch {
                // A collector that restarts, a network that is away: the request does not mind.
                guard error.code == .tryAgain else { throw error }
                progress.show(standing.progress, error.message)
            }
        }
    }

    private static func onInterruption(_ remedy: String) -> any DispatchSourceSignal {
        signal(SIGINT, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: SIGINT, queue: .global())
        source.setEventHandler {
            StandardError.write("\n")
            StandardError.warn(remedy)
            exit(LogCommandError(.tryAgain, remedy).exitCode)
        }
        source.resume()
        return source
    }
}
