import Foundation
import Testing

/// Logs from the command line of a device to the one who asked for them, with the real programs.
@Suite(.serialized, .timeLimit(.minutes(10))) struct LogTests {
    private struct Delivery: Decodable {
        var written: Int
        var ring: Int
        var filtered: Int
        var lost: Int
        var level: String?
    }

    private struct Upload: Decodable {
        var state: String
        var chunks: Int
        var sent: Int
    }

    private func log(_ arguments: [String], _ deployment: Deployment, input: String? = nil) async throws
        -> Program.Outcome
    {
        // A shell's printf is what people pipe from.
        let wrapper = input.map { ["/bin/sh", "-c", "printf '\($0)' | \"$@\"", "sh"] } ?? []
        return try await Program.agent.run(["log"] + arguments + ["--data", deployment.agentData], under: wrapper)
    }

    /// Time and number are the device's; from the level on without the number, and from the category on.
    private func texts(_ lines: [String]) -> [String] {
        lines.map { line in
            let parts = line.split(separator: " ", maxSplits: 3)
            return parts.count == 4 ? "\(parts[1]) \(parts[3])" : line
        }
    }

    private static let expected = [
        "W e2e the needle\tk=v", "I e2e from a pipe", "I e2e ", "I e2e and the last", "E e2e 'failed'",
    ]

    @Test func `Lines arrive where they are asked for, and a crash arrives once`() async throws {
        try await Deployment.run { deployment in
            try await deployment.startCollector()
            try deployment.startAgent()
            try await deployment.waitUntilAgentAnswers()

            var outcome = try await log(
                ["warning", "the needle", "--category", "e2e", "--metadata", "k=v"], deployment)
            #expect(outcome.succeeded && outcome.output.isEmpty && outcome.errors.isEmpty, "\(outcome)")
            outcome = try await log(
                ["info", "--category", "e2e", "--json"], deployment, input: #"from a pipe\n\nand the last"#)
            var delivery = try JSONDecoder().decode(Delivery.self, from: Data(outcome.output.utf8))
            #expect(outcome.succeeded && delivery.written == 3 && delivery.lost == 0, "\(outcome)")
            outcome = try await log(["verbose", "too much", "--category", "e2e"], deployment)
            #expect(outcome.succeeded && outcome.errors.contains("information"), "\(outcome)")
            outcome = try await log(["error", "'failed'", "--category", "e2e"], deployment)
            #expect(outcome.succeeded, "\(outcome)")
            #expect(try await log(["info"], deployment, input: "").succeeded)
            let here = try await Program.log.run(["show", "--category", "e2e", "--data", deployment.agentData])
            #expect(texts(here.output.split(separator: "\n").map(String.init)) == Self.expected, "\(here)")

            // By a command of the collector, filtered on the device.
            let device = try await deployment.deviceID()
            let command = try await deployment.issue(
                #"{"kind": "request-logs", "arguments": {"type": "application", "categories": ["e2e"]}}"#, to: device)
            let ended = try await deployment.end(of: command, device: device)
            #expect(ended.state == "done" && ended.uploads?.map(\.state) == ["complete"], "\(ended)")
            #expect(texts(try await deployment.logLines("device=\(device)")) == Self.expected)

            // By the device itself: the same lines once more are returned once.
            let sent = try await Program.log.run([
                "send", "--wait", "--json", "--text", "needle", "--data", deployment.agentData,
            ])
            let uploads = try JSONDecoder().decode([Upload].self, from: Data(sent.output.utf8))
            #expect(sent.succeeded && uploads.map(\.state) == ["done"] && uploads.map(\.sent) == [1], "\(sent)")
            #expect(texts(try await deployment.logLines("device=\(device)&category=e2e")) == Self.expected)

            try await crash(deployment, device)
            try await ofAnotherApplication(deployment, device)

            // Without an agent.
            try await deployment.stopAgent()
            outcome = try await log(["info", "nobody runs", "--category", "offline", "--json"], deployment)
            delivery = try JSONDecoder().decode(Delivery.self, from: Data(outcome.output.utf8))
            #expect(outcome.succeeded && delivery.written == 1 && delivery.level == "information", "\(outcome)")
            let unsent = try await Program.log.run(["send", "--data", deployment.agentData])
            #expect(unsent.ending == .exited(75) && unsent.errors.contains("no agent runs"), "\(unsent)")
            let kept = try await Program.log.run(["show", "--category", "offline", "--data", deployment.agentData])
            #expect(kept.output.contains("nobody runs"), "\(kept)")
        }
    }

    /// While agent and collector are killed, also in the middle of the upload.
    @Test func `Kills neither lose nor double any line of an application`() async throws {
        var dice = SeededGenerator.announced(for: "LogTests")
        try await Deployment.run { deployment in
            try await deployment.startCollector()
            try deployment.startAgent()
            try await deployment.waitUntilAgentAnswers()
            let device = try await deployment.deviceID()
            var reported: Set<String> = []
            for round in 1...8 {
                async let logged = log(
                    ["warning", "page \(round).", "--application", "com.example.printer"], deployment)
                try await deployment.kill(times: 1, using: &dice)
                let outcome = try await logged
                if outcome.succeeded { reported.insert("page \(round).") }
            }
            #expect(reported.count >= 4, "too little was logged to prove anything")
            try await deployment.waitUntilAgentAnswers()
            let command = try await deployment.issue(
                #"{"kind": "request-logs", "arguments": {"application": "com.example.printer"}}"#, to: device)
            try await deployment.kill(times: 6, using: &dice)
            let ended = try await deployment.end(of: command, device: device)
            #expect(ended.state == "done", "\(ended)")
            let lines = try await deployment.logLines("application=com.example.printer")
            for line in reported { #expect(lines.filter { $0.contains(line) }.count == 1, "\(line) \(lines)") }
            let foreign = try await deployment.logLines("device=\(device)")
            #expect(foreign.filter { $0.contains("page ") }.count == lines.filter { $0.contains("page ") }.count)
        }
    }

    /// Lines of a program that logs through the agent belong to that program, here and at the collector.
    private func ofAnotherApplication(_ deployment: Deployment, _ device: String) async throws {
        let logged = try await log(["warning", "out of paper", "--application", "com.example.printer"], deployment)
        #expect(logged.succeeded && logged.errors.isEmpty, "\(logged)")
        let command = try await deployment.issue(
            #"{"kind": "request-logs", "arguments": {"application": "com.example.printer"}}"#, to: device)
        let ended = try await deployment.end(of: command, device: device)
        #expect(ended.state == "done" && ended.uploads?.count == 1, "\(ended)")
        let lines = try await deployment.logLines("application=com.example.printer")
        #expect(lines.count == 1 && lines[0].contains("out of paper"), "\(lines)")
        let here = try await Program.log.run([
            "show", "--application", "com.example.printer", "--data", deployment.agentData,
        ])
        #expect(here.output.contains("out of paper") && here.output.split(separator: "\n").count == 1, "\(here)")
    }

    private func crash(_ deployment: Deployment, _ device: String) async throws {
        await deployment.agent?.killAndReap()
        // As systemd's ExecStopPost.
        let recorded = try await Program.agent.run(
            ["ended", "--data", deployment.agentData],
            environment: ["EXIT_CODE": "killed", "EXIT_STATUS": "KILL", "SERVICE_RESULT": "signal"])
        #expect(recorded.succeeded && recorded.output == "noted: killed KILL\n", "\(recorded)")
        try deployment.startAgent()
        let query = "device=\(device)&type=crash"
        try await deployment.until("the crash has arrived", while: deployment.agent) {
            try await deployment.logChunks(query) > 0
        }
        let lines = try await deployment.logLines(query)
        #expect(lines.first?.contains("ended by signal KILL") == true, "\(lines)")
        #expect(lines.contains { $0.contains("e2e 'failed'") }, "with the last lines of the session: \(lines)")
        // Another start finds nothing to report.
        try await deployment.waitUntilAgentAnswers()
        try await deployment.stopAgent()
        let orderly = try await Program.agent.run(
            ["ended", "--data", deployment.agentData], environment: ["EXIT_CODE": "exited", "EXIT_STATUS": "0"])
        #expect(orderly.succeeded && orderly.output.hasPrefix("nothing to note"), "\(orderly)")
        try deployment.startAgent()
        try await deployment.waitUntilAgentAnswers()
        let sent = try await Program.log.run([
            "send", "--wait", "--type", "crash", "--text", "no such text", "--data", deployment.agentData,
        ])
        #expect(sent.succeeded, "\(sent)")
        #expect(try await deployment.logChunks(query) == 1)
        #expect(try await deployment.logLines(query) == lines)
    }

    @Test func `What cannot be logged is reported`() async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("ws1-log-\(UUID().uuidString)")
            .path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        func log(_ arguments: String..., environment: [String: String] = [:]) async throws -> Program.Outcome {
            try await Program.agent.run(["log"] + arguments + ["--data", directory], environment: environment)
        }
        #expect(try await log("loud", "text").ending == .exited(64))
        #expect(try await log("info", "").ending == .exited(64))
        // The log's directory is none.
        #expect(FileManager.default.createFile(atPath: directory + "/logs", contents: nil))
        let unwritable = try await log("info", "text")
        #expect(unwritable.ending == .exited(1) && unwritable.errors.contains(directory + "/logs"), "\(unwritable)")
        try FileManager.default.removeItem(atPath: directory + "/logs")
        // Nobody knows what must not be written.
        #expect(FileManager.default.createFile(atPath: directory + "/profile.json", contents: Data("{".utf8)))
        let blind = try await log("info", "text")
        #expect(blind.ending == .exited(1) && blind.errors.contains("profile.json"), "\(blind)")
        #expect(!FileManager.default.fileExists(atPath: directory + "/logs"))
        let unset = try await Program.agent.run(["ended", "--data", directory])
        #expect(unset.ending == .exited(64) && unset.errors.contains("EXIT_CODE"), "\(unset)")
    }
}
