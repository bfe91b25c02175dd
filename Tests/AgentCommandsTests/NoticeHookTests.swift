import CommandKit
import Foundation
import Logging
import Testing
import WireModel

@testable import AgentCommands
@testable import DataSampler

/// The program that the agent runs on notices.
@Suite(.timeLimit(.minutes(5))) struct NoticeHookTests {
    private let directory = FileManager.default.temporaryDirectory.appending(path: "notice-hook-\(UUID())").path

    private func script(_ text: String) throws -> String {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let path = "\(directory)/hook"
        try Data("#!/bin/sh\n\(text)\n".utf8).write(to: URL(filePath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path)
        return path
    }

    private func hook(_ text: String, arguments: [String] = [], limit: Duration = .seconds(60)) throws -> NoticeHook {
        NoticeHook(
            .init(program: try script(text), arguments: arguments, limit: limit),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    /// Runs the hook until its counts are as wanted.
    private func run(_ hook: NoticeHook, until holds: (NoticeHookStatus) -> Bool) async throws {
        let running = Task { await hook.run() }
        while !holds(hook.status) {
            try Task.checkCancellation()
            await Task.yield()
        }
        running.cancel()
        await running.value
    }

    private static let notice = DataSamplerNotice(
        .networkStopped, "it's \"closed\"; $(touch x)", ["reason": "metered", "streams": "sample"])

    @Test func `A program gets each notice as a line of JSON, and its arguments as they are`() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let hook = try hook(
            #"cat >> "$1"; echo "$2 ${WS1_SECRET-none}" >> "$1""#, arguments: ["\(directory)/out", "a b;c"])
        hook.receive(Self.notice)
        hook.receive(DataSamplerNotice(.networkResumed, "open"))
        try await run(hook) { $0.succeeded == 2 }
        let lines = try String(contentsOfFile: "\(directory)/out", encoding: .utf8).split(separator: "\n")
        #expect(lines.count == 4 && lines[1] == "a b;c none" && lines[3] == "a b;c none")
        struct Received: Decodable {
            var kind: String
            var message: String
            var details: [String: String]
            var time: String
        }
        let received = try lines.indices.filter { $0 % 2 == 0 }.map {
            try JSONDecoder().decode(Received.self, from: Data(lines[$0].utf8))
        }
        #expect(received.map(\.kind) == ["network-stopped", "network-resumed"])
        #expect(received[0].message == Self.notice.message && received[0].details == Self.notice.details)
        #expect(hook.status.failed == 0 && hook.status.dropped == 0)
    }

    @Test func `A program that fails is counted with its reason, and the next notice goes on`() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let hook = try hook("exit 3")
        hook.receive(Self.notice)
        hook.receive(Self.notice)
        try await run(hook) { $0.failed == 2 }
        #expect(hook.status.lastFailure == "exited with 3")
        let missing = NoticeHook(
            .init(program: "/nonexistent/hook", arguments: [], limit: .seconds(60)), logger: Logger(label: "test"))
        missing.receive(Self.notice)
        try await run(missing) { $0.failed == 1 }
        #expect(missing.status.lastFailure?.hasPrefix("not started") == true)
    }

    @Test func `A program that hangs is killed with what it started`() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let hook = try hook(
            #"sleep 1000 & echo $! > "$1"; wait"#, arguments: ["\(directory)/child"], limit: .seconds(1))
        hook.receive(Self.notice)
        try await run(hook) { $0.failed == 1 }
        #expect(hook.status.lastFailure?.hasPrefix("killed after") == true)
        let child = try String(contentsOfFile: "\(directory)/child", encoding: .utf8).split(separator: "\n")
        let state = child.first.flatMap { try? String(contentsOfFile: "/proc/\($0)/stat", encoding: .utf8) }
        let isGone = state.map { $0.contains(") Z ") } ?? true
        #expect(isGone, "gone, or not reaped yet")
    }

    @Test func `Of too many notices the oldest are dropped and counted`() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let hook = try hook(#"cat >> "$1""#, arguments: ["\(directory)/out"])
        for number in 1...(NoticeHook.maximumWaiting + 5) {
            hook.receive(DataSamplerNotice(.commandEnded, "\(number)"))
        }
        #expect(hook.status.dropped == 5)
        try await run(hook) { $0.succeeded == UInt64(NoticeHook.maximumWaiting) }
        let first = try String(contentsOfFile: "\(directory)/out", encoding: .utf8).split(separator: "\n").first
        #expect(first?.contains(#""message":"6""#) == true)
    }

    @Test func `A message is delivered when the program has exited with 0`() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let hook = try hook(#"cat >> "$1"; test -e "$2""#, arguments: ["\(directory)/out", "\(directory)/ready"])
        var wire = WireDeliverMessage()
        (wire.text, wire.payload, wire.contentType) = ("it's $(touch x)\n", Data([0, 255]), "image/png")
        let message = DataSamplerMessage(command: Data(repeating: 1, count: 16), wire)
        await #expect(throws: (any Error).self) { try await hook.deliver(message) }
        #expect(hook.status.failed == 1 && hook.status.lastFailure == "exited with 1")
        try Data().write(to: URL(filePath: "\(directory)/ready"))
        try await hook.deliver(message)
        #expect(hook.status.succeeded == 1)
        let lines = try String(contentsOfFile: "\(directory)/out", encoding: .utf8).split(separator: "\n")
        struct Received: Decodable {
            var kind: String
            var details: [String: String]
        }
        for line in lines {
            let received = try JSONDecoder().decode(Received.self, from: Data(line.utf8))
            #expect(received.kind == "message-received")
            #expect(
                received.details == [
                    "command": "01010101-0101-0101-0101-010101010101", "text": wire.text, "payload": "AP8=",
                    "contentType": "image/png",
                ])
        }
        #expect(lines.count == 2)
    }

    private func settings(_ file: String) throws -> AgentSettings {
        let given = try ConfigurationFile.parse(Data(file.utf8), path: "agent.json5")
        let layers = SettingLayers<AgentSettings>(
            flags: ["data": "/data", "collector": "http://localhost:8420"], environment: [:],
            file: given)
        return try AgentSettings(layers, needsCollector: true)
    }

    @Test func `The program and its arguments come from the configuration`() throws {
        let given = try settings("{ noticeHook: '/bin/sh', noticeHookArguments: ['-c', 'a,b'], noticeHookSeconds: 5 }")
        #expect(given.noticeHook == "/bin/sh" && given.noticeHookArguments == ["-c", "a,b"])
        #expect(given.noticeHookSeconds == 5)
        #expect(try settings("{}").noticeHook == nil)
    }

    @Test(arguments: [
        "{ noticeHook: 'sh' }", "{ noticeHook: '/nonexistent/hook' }", "{ noticeHook: '/etc' }",
        "{ noticeHook: '/etc/passwd' }", "{ noticeHookArguments: ['a'] }",
        "{ noticeHook: '/bin/sh', noticeHookSeconds: 0 }",
    ]) func `What is no program to run is refused at the start`(file: String) throws {
        // Root may execute only what somebody may execute, as everybody else.
        let error = #expect(throws: CommandError.self) { _ = try settings(file) }
        #expect(error?.message.contains("noticeHook") == true)
    }
}
