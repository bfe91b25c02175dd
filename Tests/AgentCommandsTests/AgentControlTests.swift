import ArgumentParser
import CommandKit
import Foundation
import Logging
import TelemetryTestKit
import Testing
import Transmitter
import WireModel

@testable import AgentCommands
@testable import DataSampler

/// A sampler that commands reach through the control socket, as in an agent.
@Suite(.timeLimit(.minutes(10))) struct AgentControlTests {
    private let directory = FileManager.default.temporaryDirectory.appending(path: "agent-control-\(UUID())").path

    /// One whose collector never answers, so everything it records waits.
    private func sampler() throws -> DataSampler {
        var environment = SamplerEnvironment()
        environment.slot = ProcessSlot()
        environment.lockWait = .zero
        environment.drainTime = .zero
        environment.machineHash = "machine"
        // No beacon of a change, which another one told meanwhile would share.
        environment.beaconChangeDelay = .seconds(36_000)
        environment.conditions = { _, _ in UnknownConditions() }
        environment.detectors = { _, _, _ in [] }
        environment.connect = { _ in
            let transport = ScriptedTransport { _ throws(TransportError) in
                throw TransportError(.connectionRefused, "nobody listens")
            }
            return SamplerEnvironment.Connection(transport: transport) {}
        }
        let configuration = DataSamplerConfiguration(
            sampleModules: [], defaultSampleInterval: 60, defaultTransmitInterval: 60, traceLevel: .off,
            directory: directory, collectorURL: "https://collector.test", enrollmentToken: "enrollment-token")
        return try DataSampler(
            configuration: configuration, environment: environment,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    /// Runs a sampler and its control socket while `body` runs.
    private func running(_ body: @Sendable @escaping (DataSampler) async throws -> Void) async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let sampler = try sampler()
        try await sampler.start()
        let control = AgentControl(sampler: sampler, hook: nil)
        let server = ControlServer(directory: directory, logger: Logger(label: "test")) { await control.answer($0) }
        let (ready, continuation) = AsyncStream.makeStream(of: Void.self)
        let result: Result<Void, any Error>
        do {
            try await withThrowingTaskGroup { group in
                group.addTask { try await server.run { continuation.finish() } }
                for await _ in ready {}
                try await body(sampler)
                group.cancelAll()
            }
            result = .success(())
        } catch { result = .failure(error) }
        await sampler.stop()
        try result.get()
    }

    /// The lines of `ws1agent queue export`, as the running agent gives them.
    private func exported() async throws -> [String] {
        struct Page: Decodable {
            var lines: [String]
        }
        var request = WireControlRequest()
        request.queue.verb = .export
        let answer = try await access().ask(request)
        return try JSONDecoder().decode(Page.self, from: answer.json).lines
    }

    private func access() throws -> DeviceAccess { try DeviceAccess(DirectoryOptions.parse(["--data", directory])) }

    @Test func `An unlock command makes a beacon that says so, and without an agent says to start one`() async throws {
        let unlock = try UnlockCommand.parse(["--data", directory])
        let error = await #expect(throws: CommandError.self) { try await unlock.run() }
        #expect(error?.exitCode == 75 && error?.message.contains("start it") == true)
        try await running { sampler in
            // The start beacon, which an unlock told meanwhile would share, is made.
            try await sampler.sendBeacon()
            try await unlock.run()
            let unlocks = try await exported().filter { $0.contains("BEACON_TRIGGER_UNLOCK") }
            #expect(unlocks.count == 1 && unlocks.first?.contains(#""stream":"status""#) == true, "\(unlocks)")
        }
    }
}
