import Encryption
import Foundation
import LogStore
import Logging
import TestKit
import Testing
import WireModel

@testable import LogCommands

/// Encrypted logs: the keys come from the running agent, or from the provider of the device key.
@Suite(.timeLimit(.minutes(5))) struct EncryptedLogTests {
    private let data: TemporaryDirectory

    init() throws { data = try TemporaryDirectory() }

    private func ring(_ provider: (any DeviceKeyProvider)? = nil) -> KeyRing {
        KeyRing(
            directory: data.path, provider: provider ?? KeyFileProvider(path: data.file("device.key")),
            now: { 1_000_000 }, logger: Logger(label: "test"))
    }

    /// Writes ten lines; they are in frames, or sealed.
    private func write(_ ring: KeyRing, isSealed: Bool) async throws {
        var configuration = LogStore.Configuration(directory: data.file("logs"), applicationName: "test")
        configuration.keys = ring
        let log = try LogStore(configuration)
        for line in 1...10 { log.information("line \(line)", category: "app") }
        log.flush()
        if isSealed { await log.close() }
    }

    private func run(_ arguments: String...) async throws -> ProgramRun {
        try await ProgramRun.ws1log(arguments + ["--data", data.path])
    }

    private func messages(_ text: String) -> [String] {
        text.split(separator: "\n").map { String($0.split(separator: " ", maxSplits: 4).last ?? "") }
    }

    private let expected = (1...10).map { "line \($0)" }

    @Test(arguments: [false, true])
    func `Without an agent the key file is asked`(isSealed: Bool) async throws {
        try await write(ring(), isSealed: isSealed)
        #expect(messages(try await run("show").text) == expected)
        #expect(messages(try await run("tail", "-n", "3").text) == expected.suffix(3))
        #expect(messages(try await run("fetch").text) == expected)
        let fetch = try await run("fetch", "--chunks", "--gzip", "--output", data.file("chunks"))
        #expect(fetch.status == 0)
        #expect(try await run("verify").status == 0)
        #expect(try await run("list").status == 0)
    }

    @Test func `A running agent gives the keys, also those of a passcode`() async throws {
        let ring = ring(HostKeyProvider { Data(repeating: 3, count: 32) })
        try await write(ring, isSealed: true)
        let list = try ring.list(of: .logs)
        let json = try JSONEncoder().encode(list)
        let agent = try ScriptedAgent(data.path) { request, _ in
            guard case .logKeys = request.action else { return .silence }
            var answer = WireControlAnswer()
            answer.succeeded = true
            answer.json = json
            return .answer(answer)
        }
        #expect(messages(try await run("show").text) == expected)
        #expect(try await run("verify").status == 0)
        #expect(agent.requests.count == 2)
    }

    @Test func `A key that is missing or another one is said, with exit code 75, and is no damage`() async throws {
        try await write(ring(), isSealed: true)
        let key = data.file("device.key")
        try FileManager.default.moveItem(atPath: key, toPath: key + ".away")
        try await expectLocked("device.key")

        let other = try TemporaryDirectory()
        _ = try KeyFileProvider(path: other.file("device.key")).make()
        try FileManager.default.copyItem(atPath: other.file("device.key"), toPath: key)
        try await expectLocked("is not the one")

        // The flag names where the right one is.
        #expect(messages(try await run("show", "--device-key", "file:\(key).away").text) == expected)
        #expect(try await run("show", "--device-key", "nowhere").status == 64)
    }

    @Test func `An agent that is locked says so`() async throws {
        let ring = ring(HostKeyProvider { Data(repeating: 3, count: 32) })
        try await write(ring, isSealed: true)
        let agent = try ScriptedAgent(data.path) { _, _ in
            var answer = WireControlAnswer()
            answer.errorCode = "locked"
            answer.message = "the keys are locked: enter the passcode, then try again"
            answer.exitCode = 75
            return .answer(answer)
        }
        try await expectLocked("enter the passcode")
        #expect(!agent.requests.isEmpty)
    }

    private func expectLocked(_ reason: String) async throws {
        for command in ["show", "fetch", "verify", "tail"] {
            let run = try await run(command)
            #expect(run.status == 75, "\(command): \(run.errors)")
            #expect(run.errors.contains(reason), "\(command): \(run.errors)")
            #expect(!run.text.contains("damaged  "))
        }
    }
}
