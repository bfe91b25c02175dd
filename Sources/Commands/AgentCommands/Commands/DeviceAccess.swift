import ArgumentParser
import CommandKit
import ControlSocket
import DataSampler
import FoundationEssentials
import Glibc
import Logging
import WireModel

/// Asks the running agent of a directory, or works on the directory itself if no agent runs.
struct DeviceAccess {
    let configuration: DataSamplerConfiguration

    init(_ options: DirectoryOptions) throws(CommandError) {
        self.init(try AgentSettings(SettingLayers(flags: options.given), needsCollector: false))
    }

    init(_ settings: AgentSettings) {
        var settings = settings
        // A command reports a failure by message and exit code, so it needs no log lines.
        settings.configuration.traceLevel = .off
        configuration = settings.configuration
    }

    /// Asks the running agent; if there is none, works on the directory.
    ///
    /// While an agent starts or stops it holds the lock but does not listen, so both ways are tried in turn for five
    /// seconds. A directory without a queue stays untouched: its name is most likely a typing error, and nobody would
    /// send the records.
    /// - Parameter offline: works on the directory if no agent runs.
    func perform(
        _ request: WireControlRequest, offline: (OfflineSampler) async throws(DataSamplerError) -> WireControlAnswer
    ) async throws(CommandError) -> WireControlAnswer {
        let client = ControlClient(directory: configuration.directory)
        let step = Duration.milliseconds(100)
        var waited = Duration.zero
        while true {
            if let answer = try await Self.ask(client, request) { return answer }
            // At its first start, an agent holds the lock before the queue exists.
            if waited >= .seconds(5) || access("\(configuration.directory)/lock", F_OK) != 0 { try requireQueue() }
            if hasQueue {
                do throws(DataSamplerError) {
                    return try await withQueue(offline)
                } catch {
                    guard error.code == .queueInUse, waited < .seconds(5) else { throw CommandError(error) }
                }
            }
            try? await Task.sleep(for: step)
            waited += step
        }
    }

    private var hasQueue: Bool { access("\(configuration.directory)/queue.sqlite", F_OK) == 0 }

    /// - Throws: if the directory has no queue.
    func requireQueue() throws(CommandError) {
        guard !hasQueue else { return }
        let directory = configuration.directory
        guard errno == ENOENT || errno == ENOTDIR else {
            throw CommandError(.failed, "\(directory) cannot be read: \(String(cString: strerror(errno)))")
        }
        throw CommandError(
            .failed,
            "no agent runs in \(directory), and there is no queue, so nothing was done. "
                + "Check --data, or start an agent there first: "
                + "ws1agent run --data \(directory)")
    }

    /// - Returns: the agent's answer; `nil` if no agent runs.
    func askIfRunning(_ request: WireControlRequest) async throws(CommandError) -> WireControlAnswer? {
        try await Self.ask(ControlClient(directory: configuration.directory), request)
    }

    /// Asks the running agent, and fails if no agent runs.
    /// - Parameter limit: seconds that the agent may need.
    func ask(_ request: WireControlRequest, within limit: Int = 30) async throws(CommandError) -> WireControlAnswer {
        let client = ControlClient(directory: configuration.directory, timeoutSeconds: limit)
        guard let answer = try await Self.ask(client, request) else { throw noAgent }
        return answer
    }

    /// Asks like `ask`, for a request that is answered once the collector has what was asked for.
    func ask(_ request: WireControlRequest, waitingSeconds: UInt32) async throws(CommandError) -> WireControlAnswer {
        // The agent answers at the end of the wait; the rest is for a busy machine.
        let answer = try await ask(request, within: Int(waitingSeconds) + 30)
        guard answer.delivered else {
            throw CommandError(
                .failed,
                """
                the running agent is of an earlier version and cannot wait for the collector: restart it, or leave \
                --wait out. It did what was asked.
                """
            )
        }
        return answer
    }

    private var noAgent: CommandError {
        CommandError(.tryAgain, "no agent runs in \(configuration.directory): start it, or check --data")
    }

    private func withQueue(
        _ body: (OfflineSampler) async throws(DataSamplerError) -> WireControlAnswer
    ) async throws(DataSamplerError) -> WireControlAnswer {
        let sampler = try await OfflineSampler.open(configuration, logger: Logger(label: "ws1agent"))
        do {
            let answer = try await body(sampler)
            await sampler.close()
            return answer
        } catch {
            await sampler.close()
            throw error
        }
    }

    private static func ask(_ client: ControlClient, _ request: WireControlRequest) async throws(CommandError)
        -> WireControlAnswer?
    {
        do throws(ControlError) { return try await client.ask(request)?.succeeding() } catch {
            throw CommandError(error)
        }
    }
}

extension WireControlAnswer {
    static let done: WireControlAnswer = {
        var answer = WireControlAnswer()
        answer.succeeded = true
        return answer
    }()

    static func numbered(_ number: UInt64) -> WireControlAnswer {
        var answer = WireControlAnswer()
        answer.succeeded = true
        answer.number = number
        return answer
    }

    static func delivered(_ number: UInt64) -> WireControlAnswer {
        var answer = numbered(number)
        answer.delivered = true
        return answer
    }

    static func json(_ value: some Encodable) throws(DataSamplerError) -> WireControlAnswer {
        var answer = WireControlAnswer()
        answer.succeeded = true
        do { answer.json = try JSONText.of(value) } catch {
            throw DataSamplerError(.queue, error.message, cause: error)
        }
        return answer
    }
}
