import Foundation
import NIOHTTP1
import TestKit
import Testing

/// What the device notices is in the agent's log, and with the program that its owner configured.
@Suite(.timeLimit(.minutes(5)))
struct NoticeTests {
    private struct Status: Decodable {
        struct Hook: Decodable {
            var succeeded: Int
            var failed: Int
            var dropped: Int
            var lastFailure: String?
        }
        var noticeHook: Hook?
        var offlineTimeExceeded: Int?
    }

    private static func status(_ deployment: Deployment) async throws -> Status? {
        let outcome = try await Program.agent.run(["status", "--json", "--data", deployment.agentData])
        return try? JSONDecoder().decode(Status.self, from: Data(outcome.output.utf8))
    }

    /// Writes a program into the deployment's directory.
    private static func hook(_ deployment: Deployment, _ text: String) throws -> String {
        let path = deployment.directory + "/hook"
        try Data("#!/bin/sh\n\(text)\n".utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path)
        return path
    }

    @Test func `Notices reach the log and the configured program`() async throws {
        try await Deployment.run { deployment in
            let received = deployment.directory + "/received"
            let hook = try Self.hook(deployment, #"cat >> "$1""#)
            func log() -> String { Program.text(deployment.directory + "/agent.log") }
            try await deployment.startCollector()
            try deployment.startAgent(
                ["--notice-hook", hook],
                environment: ["WS1_NOTICE_HOOK_ARGUMENTS": received, "WS1_OFFLINE_TIME_ALLOWED": "1"])
            let agent = deployment.agent
            try await deployment.waitUntilAgentAnswers()
            try await deployment.until("the program has the notice of the profile", while: agent) {
                Program.text(received).contains(#""kind":"profile-applied""#)
            }
            #expect(log().contains("kind=profile-applied"))

            try await deployment.stopCollector()
            try await deployment.until("the program has the notice of the offline time", while: agent) {
                Program.text(received).contains(#""kind":"offline-time-exceeded""#)
            }
            #expect(log().contains("kind=offline-time-exceeded"))
            #expect(try await Self.status(deployment)?.offlineTimeExceeded != nil)
            let text = try await Program.agent.run(["status", "--data", deployment.agentData])
            #expect(text.output.contains("longer than allowed"), "\(text)")
            #expect(text.output.contains("0 failed, 0 dropped"), "\(text)")
        }
    }

    @Test func `A program that hangs is killed, and the next notice goes on`() async throws {
        try await Deployment.run { deployment in
            let hook = try Self.hook(deployment, "exec sleep 1000")
            try await deployment.startCollector()
            try deployment.startAgent(["--notice-hook", hook], environment: ["WS1_NOTICE_HOOK_SECONDS": "1"])
            try await deployment.until("two runs were killed", while: deployment.agent) {
                guard let hook = try await Self.status(deployment)?.noticeHook else { return false }
                return hook.failed >= 2 && hook.lastFailure?.hasPrefix("killed") == true
            }
            try await deployment.stopAgent()
        }
    }

    @Test func `Of too many notices, the oldest are dropped and counted`() async throws {
        try await Deployment.run { deployment in
            let hook = try Self.hook(deployment, "exec sleep 1000")
            try await deployment.startCollector()
            try deployment.startAgent(["--notice-hook", hook], environment: ["WS1_NOTICE_HOOK_SECONDS": "300"])
            try await deployment.waitUntilAgentAnswers()
            let device = try await deployment.deviceID()
            // Each command that ends is a notice.
            for _ in 0..<20 { _ = try await deployment.issue(#"{"kind": "send-beacon"}"#, to: device) }
            try await deployment.until("notices were dropped", while: deployment.agent) {
                try await Self.status(deployment)?.noticeHook?.dropped ?? 0 > 0
            }
            // A stop does not wait for the program.
            try await deployment.stopAgent()
        }
    }

    private struct Message: Decodable {
        var kind: String
        var details: [String: String]
    }

    /// The messages that the program was given.
    private static func messages(_ received: String) -> [Message] {
        Program.text(received).split(separator: "\n")
            .compactMap { try? JSONDecoder().decode(Message.self, from: Data($0.utf8)) }
            .filter { $0.kind == "message-received" }
    }

    @Test func `A message reaches the configured program, whatever kills the agent`() async throws {
        var dice = SeededGenerator.announced(for: "NoticeTests.messages")
        try await Deployment.run { deployment in
            let received = deployment.directory + "/received"
            let hook = try Self.hook(deployment, #"cat >> "$1""#)
            func start(_ deployment: Deployment) throws {
                try deployment.startAgent(
                    ["--notice-hook", hook], environment: ["WS1_NOTICE_HOOK_ARGUMENTS": received])
            }
            try await deployment.startCollector()
            try start(deployment)
            try await deployment.waitUntilAgentAnswers()
            let device = try await deployment.deviceID()
            let text = #"nobody's \"shell\" $(touch x)\nreads this"#
            let first = try await deployment.issue(
                #"{"kind": "message", "arguments": {"text": "\#(text)", "payload": "AP8=", "#
                    + #""contentType": "image/png"}}"#, to: device)
            #expect(try await deployment.end(of: first, device: device).state == "done")
            let message = try #require(Self.messages(received).first)
            #expect(
                message.details == [
                    "command": first.id, "text": "nobody's \"shell\" $(touch x)\nreads this", "payload": "AP8=",
                    "contentType": "image/png",
                ])

            var waiting: [Deployment.Command] = []
            for number in 1...6 {
                waiting.append(
                    try await deployment.issue(
                        #"{"kind": "message", "arguments": {"text": "number \#(number)"}}"#, to: device))
            }
            try await deployment.kill(times: 8, using: &dice, startAgent: start)
            for command in waiting {
                #expect(try await deployment.end(of: command, device: device).state == "done")
            }
            let given = Set(Self.messages(received).compactMap { $0.details["command"] })
            #expect(given == Set(([first] + waiting).map(\.id)), "each at least once")
            let log = Program.text(deployment.directory + "/agent.log")
            #expect(log.contains("kind=message-received") && !log.contains("reads this") && !log.contains("number 1"))
        }
    }

    @Test func `An agent without a program for notices takes no messages`() async throws {
        try await Deployment.run { deployment in
            try await deployment.startCollector()
            try deployment.startAgent()
            try await deployment.waitUntilAgentAnswers()
            let device = try await deployment.deviceID()
            let command = try await deployment.issue(
                #"{"kind": "message", "arguments": {"text": "hello"}}"#, to: device)
            let ended = try await deployment.end(of: command, device: device)
            #expect(ended.state == "unsupported" && ended.detail?.contains("noticeHook") == true)
        }
    }

    @Test func `A proxy that is not there stops the network for this reason`() async throws {
        try await Deployment.run { deployment in
            try await deployment.startCollector()
            try deployment.startAgent(["--proxy", "http://127.0.0.1:\(try FreePorts.one())"])
            try await deployment.until("the log says that the proxy fails", while: deployment.agent) {
                let log = Program.text(deployment.directory + "/agent.log")
                return log.contains("kind=network-stopped") && log.contains("detail.reason=proxy")
            }
        }
    }

    /// A program that was asked to block its use hears that the cause is gone, also when the agent was dead meanwhile.
    @Test func `Kills keep no program blocked`() async throws {
        var dice = SeededGenerator.announced(for: "NoticeTests")
        try await Deployment.run { deployment in
            let received = deployment.directory + "/received"
            let hook = try Self.hook(deployment, #"cat >> "$1""#)
            func start(_ deployment: Deployment) throws {
                try deployment.startAgent(
                    ["--notice-hook", hook],
                    environment: ["WS1_NOTICE_HOOK_ARGUMENTS": received, "WS1_APPLICATION_VERSION": "1.0"])
            }
            func newest() -> String? {
                Program.text(received).split(separator: "\n").last { $0.contains(#"blocked","#) }
                    .map { $0.contains(#""unblocked""#) ? "unblocked" : "blocked" }
            }
            try await deployment.startCollector()
            try start(deployment)
            try await deployment.waitUntilAgentAnswers()
            for (version, kind) in [("2", "blocked"), ("1", "unblocked"), ("2", "blocked"), ("1", "unblocked")] {
                _ = try await deployment.request(
                    "/profiles/default", .PUT,
                    body: #"{"compliance": [{"id": "app", "subject": "application-version", "operator": ">=", "#
                        + #""version": "\#(version)", "consequence": "block"}]}"#)
                try await deployment.kill(times: 5, using: &dice, startAgent: start)
                try await deployment.until("the program hears \(kind)", while: deployment.agent) { newest() == kind }
            }
        }
    }
}
