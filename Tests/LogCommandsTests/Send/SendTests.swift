import ControlSocket
import Foundation
import LogStore
import TestKit
import Testing
import WireModel

@testable import LogCommands

/// The built `ws1log send` against a control socket that answers by a script.
@Suite final class SendTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
        "ws1log-send-\(UUID().uuidString)")
    private let id = UploadID.random()

    init() throws {
        try FileManager.default.createDirectory(
            at: folder.appendingPathComponent("logs"), withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    private func run(_ arguments: String...) async throws -> ProgramRun {
        try await ProgramRun.ws1log(["send", "--data", folder.path] + arguments)
    }

    private func upload(_ state: LogUploadReport.State, sent: Int = 0, detail: String = "") -> LogUploadReport {
        LogUploadReport(
            id: "\(id)", type: "application", state: state, chunks: 4, sent: sent, gone: 0, bytes: 12_345_678,
            detail: detail)
    }

    @Test func `Without an agent the exit code is try again later, and the message says what else there is`()
        async throws
    {
        let nobody = try await run()
        #expect(
            nobody.status == 75 && nobody.errors.contains("no agent runs in \(folder.path)")
                && nobody.errors.contains("fetch"))
        // A socket left by a killed agent is nobody too.
        let socketPath = folder.appendingPathComponent(ControlSocketPath.name).path
        #expect(FileManager.default.createFile(atPath: socketPath, contents: nil))
        #expect(try await run().status == 75)
        let nowhere = try await ProgramRun.ws1log(["send", "--data", folder.path + "/none"])
        #expect(nowhere.status == 1 && nowhere.errors.contains("--data"))
    }

    @Test func `What is asked for is what the filter says`() async throws {
        let upload = upload(.underWay)
        let agent = try ScriptedAgent(folder.path) { _, _ in .uploads([upload]) }
        let run = try await run(
            "--level", "warning", "--type", "crash", "--since", "2026-11-21T00:00:00Z", "--until",
            "2026-11-22T00:00:00Z", "--category",
            "a*",
            "--category", "b", "--text", "needle", "--ring", "--maximum-bytes", "1000", "--when-allowed")
        #expect(run.status == 0 && run.text == "4 chunks, 12.3 MB of text: on the way\n", "\(run)")
        let request = try #require(agent.requests.first).sendLogs
        #expect(request.whenAllowed && request.request.mode == .snapshot && request.request.includeVerboseRing)
        #expect(
            request.request.level == .warning && request.request.type == .crash && request.request.maximumBytes == 1000)
        #expect(request.request.since == 1_795_219_200_000_000 && request.request.until == 1_795_305_600_000_000)
        #expect(request.request.categories == ["a*", "b"] && request.request.text == "needle")
        // The store itself names the agent beside it.
        #expect(try await ProgramRun.ws1log(["send", "--data", folder.path + "/logs"]).status == 0)
        #expect(agent.requests.last?.sendLogs.request.hasSince == false)
    }

    /// Mostly there are no other verbose lines.
    @Test func `The level verbose means the lines of the ring, too`() async throws {
        let upload = upload(.underWay)
        let agent = try ScriptedAgent(folder.path) { _, _ in .uploads([upload]) }
        let table: [(arguments: [String], ring: Bool)] = [
            ([], false), (["--level", "information"], false), (["--level", "verbose"], true), (["--ring"], true),
        ]
        for row in table {
            #expect(try await ProgramRun.ws1log(["send", "--data", folder.path] + row.arguments).status == 0)
            #expect(agent.requests.last?.sendLogs.request.includeVerboseRing == row.ring, "\(row.arguments)")
        }
    }

    @Test func `A network that is not allowed is try again later, with the reason`() async throws {
        let agent = try ScriptedAgent(folder.path) { _, _ in
            .failure("network-not-allowed", "logs may not be sent now: the network is cellular", exitCode: 75)
        }
        let run = try await run("--wait")
        #expect(run.status == 75 && run.errors.contains("the network is cellular"), "\(run)")
        #expect(agent.requests.count == 1)
    }

    @Test func `Waiting follows until the collector has all`() async throws {
        let steps = [
            upload(.underWay), upload(.underWay, detail: "the network is cellular"), upload(.underWay, sent: 2),
            upload(.done, sent: 4),
        ]
        let agent = try ScriptedAgent(folder.path) { _, count in .uploads([steps[min(count, 3)]]) }
        let run = try await run("--wait")
        #expect(run.status == 0 && run.text == "4 chunks, 12.3 MB of text: the collector has it\n", "\(run)")
        #expect(run.errors == "ws1log: waiting: the network is cellular\n")
        #expect(agent.requests.count == 4)
        #expect(agent.requests.dropFirst().allSatisfy { $0.logUploads.ids == [id.data] })
        let json = try await self.run("--wait", "--json")
        #expect(try JSONDecoder().decode([LogUploadReport].self, from: json.output) == [steps[3]])
    }

    @Test func `What will never arrive fails with the reason`() async throws {
        let failed = upload(.failed, detail: "log-quota-exceeded")
        let (begun, id) = (upload(.underWay), id)
        do {
            let agent = try ScriptedAgent(folder.path) { _, count in .uploads([count == 0 ? begun : failed]) }
            let run = try await run("--wait")
            #expect(run.status == 1 && run.errors.contains("log-quota-exceeded") && run.text.isEmpty, "\(run)")
            #expect(agent.requests.count == 2)
        }
        // One the agent no longer knows.
        let agent = try ScriptedAgent(folder.path) { _, count in .uploads(count == 0 ? [begun] : []) }
        let forgotten = try await run("--wait")
        #expect(forgotten.status == 1 && forgotten.errors.contains("knows nothing of it"), "\(forgotten)")
        #expect(agent.requests.last?.logUploads.ids == [id.data])
    }

    @Test func `An agent that ends meanwhile is try again later`() async throws {
        let begun = upload(.underWay)
        let agent = try ScriptedAgent(folder.path) { _, count in count == 0 ? .uploads([begun]) : .silence }
        let run = try await run("--wait")
        #expect(run.status == 75 && run.errors.contains(folder.path), "\(run)")
        #expect(agent.requests.count == 2)
    }

    @Test func `No line is nothing to send`() async throws {
        let agent = try ScriptedAgent(folder.path) { _, _ in .uploads([]) }
        let run = try await run("--wait")
        #expect(run.status == 0 && run.text.contains("no line matches"), "\(run)")
        #expect(agent.requests.count == 1)
    }
}
