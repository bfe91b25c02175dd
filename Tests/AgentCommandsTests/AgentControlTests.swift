import ArgumentParser
import CommandKit
import DeviceTestKit
import Foundation
import Logging
import Testing
import Transmitter
import WireModel

@testable import AgentCommands
@testable import DataSampler

/// A sampler that commands reach through the control socket, as in an agent.
@Suite(.timeLimit(.minutes(10))) struct AgentControlTests {
    private let directory = FileManager.default.temporaryDirectory.appending(path: "agent-control-\(UUID())").path

    /// One whose collector never answers, so everything it records waits.
    private func sampler(_ modules: DataSamplerModules) throws -> DataSampler {
        var environment = SamplerEnvironment()
        environment.slot = ProcessSlot()
        environment.lockWait = .zero
        environment.drainTime = .zero
        environment.machineHash = "machine"
        // No beacon of a change, which another one reported meanwhile would share.
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
            sampleModules: modules, defaultSampleInterval: 60, defaultTransmitInterval: 60, traceLevel: .off,
            directory: directory, collectorURL: "https://collector.test", enrollmentToken: "enrollment-token")
        return try DataSampler(
            configuration: configuration, environment: environment,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    /// Runs a sampler and its control socket while `body` runs.
    private func running(
        _ modules: DataSamplerModules = [], _ body: @Sendable @escaping (DataSampler) async throws -> Void
    ) async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let sampler = try sampler(modules)
        try await sampler.start()
        let control = AgentControl(sampler: sampler, hook: nil)
        let server = ControlServer(
            directory: directory, logger: Logger(label: "test"), answer: { await control.answer($0) },
            answerLine: { await control.answer(line: $0) })
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
            // The start beacon, which an unlock reported meanwhile would share, is made.
            try await sampler.sendBeacon()
            try await unlock.run()
            let unlocks = try await exported().filter { $0.contains("BEACON_TRIGGER_UNLOCK") }
            #expect(unlocks.count == 1 && unlocks.first?.contains(#""stream":"status""#) == true, "\(unlocks)")
        }
    }

    /// Sends lines as a program does, and returns the answers.
    private func say(_ lines: String...) async throws -> [String] {
        let descriptor = try #require(rawConnection(directory, bind: false))
        defer { close(descriptor) }
        let answers = await exchange(descriptor, Data(lines.joined(separator: "\n").utf8), closing: true)
        return String(decoding: answers, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    @Test func `A program's lines become records and log lines under its own name`() async throws {
        try await running([.analytics, .custom]) { sampler in
            let answers = try await say(
                #"""
                {"event": "badge.printed", "value": 3, "attributes": {"door": "north", "late": false}, "application": \#
                "com.example.kiosk"}
                """#,
                #"""
                {"sample": "till", "measurements": [{"name": "till.sales", "value": 2.5, "unit": "{sale}"}], \#
                "application": "com.example.till"}
                """#,
                #"""
                {"log": "paper is low", "level": "warning", "category": "printer", "application": "com.example.kiosk"}
                """#
            )
            #expect(answers.count == 3)
            for answer in answers { #expect(answer.contains(#""ok":true"#), "\(answer)") }
            #expect(answers[0].contains(#""number":"#) && answers[1].contains(#""number":"#))
            let records = try await exported()
            let event = try #require(records.first { $0.contains("badge.printed") })
            #expect(event.contains("com.example.kiosk") && event.contains("north"))
            let sample = try #require(records.first { $0.contains("till.sales") })
            #expect(sample.contains("com.example.till") && sample.contains("2.5"))
        }
    }

    @Test func `A line that says nothing recordable is refused with its reason, and the next one counts`() async throws
    {
        try await running([.analytics]) { _ in
            let answers = try await say(
                "{]", #"{"value": 3}"#, #"{"event": "a", "sample": "b"}"#, #"{"event": "a", "valeu": 3}"#,
                #"{"event": "a"}"#, #"{"event": "", "value": 1}"#, #"{"event": "a", "value": null}"#,
                #"{"log": "x", "level": "loud"}"#, #"{"sample": "till", "measurements": []}"#,
                #"{"event": "a", "value": 1, "application": "\#(String(repeating: "x", count: 201))"}"#,
                #"{"event": "good", "value": 1}"#)
            #expect(answers.count == 11)
            for answer in answers.dropLast() { #expect(answer.contains(#""ok":false"#), "\(answer)") }
            #expect(answers[3].contains("'valeu'") && answers[4].contains("'value' is missing"))
            #expect(answers[5].contains("invalid-event") && answers[8].contains("invalid-module"))
            #expect(answers.last?.contains(#""ok":true"#) == true)
        }
    }

    @Test func `A command may record an event for another program`() async throws {
        try await running([.analytics]) { _ in
            let command = try EventCommand.parse(
                ["door", "7", "--type", "integer", "--application", "com.example.door", "--data", directory])
            try await command.run()
            #expect(try await exported().contains { $0.contains("door") && $0.contains("com.example.door") })
        }
    }
}
