import Foundation
import NIOHTTP1
import SQLite
import Testing
import WireModel

/// Flipped bits in what is sealed on a device: the agent starts, names what is damaged, and accounts for it.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct EncryptedDamageTests {
    @Test func `Each damaged state file is named and set aside, and the same device goes on`() async throws {
        try await Deployment.run { deployment in
            try await deployment.startCollector()
            _ = try await deployment.request(
                "/profiles/default", .PUT, body: #"{"analytics": {"enabled": true}, "customPayload": "payload"}"#)
            try deployment.startAgent()
            try await deployment.waitUntilAgentAnswers()
            let device = try await deployment.deviceID()
            var acknowledged = try await deployment.record(events: 2, prefix: "before")
            for arguments in [["push-token", "token"], ["log", "error", "a line"]] {
                let outcome = try await Program.agent.run(arguments + ["--data", deployment.agentData])
                #expect(outcome.succeeded, "\(outcome)")
            }
            let sent = try await Program.log.run(["send", "--wait", "--data", deployment.agentData])
            #expect(sent.succeeded, "\(sent)")
            let command = try await deployment.issue(#"{"kind": "request-logs", "arguments": {}}"#, to: device)
            _ = try await deployment.end(of: command, device: device)
            try await deployment.stopAgent()

            let names = try Self.sealedStateFiles(deployment)
            #expect(
                Set(names).isSuperset(of: [
                    "identity", "profile.json", "commands.json", "push-token", "log-uploads.json", "analytics",
                ]), "\(names)")
            for name in names {
                try Self.flip("\(deployment.agentData)/\(name)", at: { $0.count / 2 })
                let before = Program.text(deployment.directory + "/agent.log").utf8.count
                try deployment.startAgent()
                // A command that comes before the agent would find the damage, and say so itself.
                try await deployment.until("the agent sets \(name) aside", while: deployment.agent) {
                    FileManager.default.fileExists(atPath: "\(deployment.agentData)/\(name).damaged")
                }
                try await deployment.waitUntilAgentAnswers()
                acknowledged.formUnion(try await deployment.record(events: 1, prefix: "after.\(name)"))
                try await deployment.stopAgent()
                let said = String(
                    decoding: Program.text(deployment.directory + "/agent.log").utf8.dropFirst(before), as: UTF8.self)
                #expect(
                    said.contains("agent/\(name)"),
                    "\(name) is not named: \(Program.text(deployment.directory + "/agent.log"))")
            }
            try Self.flip("\(deployment.agentData)/profile.json", at: { $0.count / 2 })
            let offline = try await Program.agent.run(["status", "--data", deployment.agentData])
            #expect(offline.succeeded && offline.errors.contains("agent/profile.json"), "\(offline)")
            try deployment.startAgent()
            try await deployment.waitUntilAgentAnswers()
            #expect(try await deployment.deviceID() == device)
            try await deployment.expectExactlyOnce(acknowledged: acknowledged)
        }
    }

    @Test func `One damaged half of the keys costs nothing, and two wait for a copy`() async throws {
        try await Deployment.run { deployment in
            try await deployment.startCollector()
            try deployment.startAgent()
            try await deployment.waitUntilAgentAnswers()
            var acknowledged = try await deployment.record(events: 2, prefix: "before")
            try await deployment.stopAgent()
            let keys = deployment.agentData + "/keys"
            let copy = try Data(contentsOf: URL(fileURLWithPath: keys))

            try Self.flip(keys, at: { $0.count / 4 })
            try deployment.startAgent()
            try await deployment.waitUntilAgentAnswers()
            acknowledged.formUnion(try await deployment.record(events: 2, prefix: "half"))
            try await deployment.stopAgent()

            try copy.write(to: URL(fileURLWithPath: keys))
            for part in [1, 3] { try Self.flip(keys, at: { $0.count * part / 4 }) }
            let damaged = try Data(contentsOf: URL(fileURLWithPath: keys))
            try deployment.startAgent()
            var status = ""
            try await deployment.until("the agent says what is wrong", while: deployment.agent) {
                let outcome = try await Program.agent.run(["status", "--data", deployment.agentData])
                status = outcome.output + outcome.errors
                return status.contains("LOCKED")
            }
            #expect(status.contains("keys") && status.localizedStandardContains("restore"), "\(status)")
            #expect(try Data(contentsOf: URL(fileURLWithPath: keys)) == damaged, "the file stays")
            let balance = try await Program.agent.run(["balance", "--data", deployment.agentData])
            #expect(balance.succeeded, "\(balance)")
            try await deployment.stopAgent()

            try copy.write(to: URL(fileURLWithPath: keys))
            try deployment.startAgent()
            try await deployment.waitUntilAgentAnswers()
            acknowledged.formUnion(try await deployment.record(events: 2, prefix: "after"))
            try await deployment.expectExactlyOnce(acknowledged: acknowledged)
        }
    }

    @Test func `A damaged record is counted, and the others arrive`() async throws {
        try await Deployment.run { deployment in
            try await deployment.startCollector()
            try deployment.startAgent()
            try await deployment.waitUntilAgentAnswers()
            let before = try await deployment.record(events: 2, prefix: "before")
            try await deployment.waitUntilSent()
            try await deployment.stopCollector()
            let waiting = try await deployment.record(events: 10, prefix: "waiting")
            await deployment.agent?.killAndReap()
            try Self.damageBody(in: deployment.agentData)

            try await deployment.startCollector()
            try deployment.startAgent()
            try await deployment.waitUntilAgentAnswers()
            let after = try await deployment.record(events: 2, prefix: "after")
            try await deployment.waitUntilSent()
            let stored = Set(try await deployment.storedEvents().keys)
            #expect(stored.isSuperset(of: before) && stored.isSuperset(of: after))
            let missing = waiting.subtracting(stored)
            #expect((1...2).contains(missing.count), "\(missing)")
            let balance = try #require(try await deployment.balance(.agent)["event"]?.first)
            #expect(balance.closes, "\(balance)")
            let dropped = balance.dropped.filter { $0.key != "moved" }
            #expect(dropped.values.reduce(0, +) == UInt64(missing.count), "\(balance)")
            let log = Program.text(deployment.directory + "/agent.log")
            #expect(log.contains("queue dropped unreadable records"), "\(log)")
            try await deployment.expectExactlyOnce(
                acknowledged: before.union(after).union(waiting.intersection(stored)),
                droppedOnlyFor: Set(dropped.keys).union(["moved"]))
        }
    }

    @Test func `A damaged frame and a damaged block of the logs cost the lines in them`() async throws {
        try await Deployment.run { deployment in
            try await deployment.startCollector()
            try deployment.startAgent()
            try await deployment.waitUntilAgentAnswers()
            let logs = deployment.agentData + "/logs"
            func log(_ text: String) async throws {
                let outcome = try await Program.agent.run([
                    "log", "error", text, "--category", "damage", "--data", deployment.agentData,
                ])
                try #require(outcome.succeeded, "\(outcome)")
            }
            func shown() async throws -> String {
                try await Program.log.run(["show", "--category", "damage", "--data", deployment.agentData]).output
            }
            func verified() async throws -> Program.Outcome {
                try await Program.log.run(["verify", "--data", deployment.agentData])
            }
            for number in 1...3 { try await log("first \(number).") }
            // A clean stop seals the segment.
            try await deployment.stopAgent()
            let whole = try await verified()
            #expect(whole.succeeded, "\(whole)")
            let sealed = try #require(
                try FileManager.default.contentsOfDirectory(atPath: logs)
                    .first { $0.hasSuffix("-application.log.gz") })

            try deployment.startAgent()
            try await deployment.waitUntilAgentAnswers()
            for number in 1...3 { try await log("second \(number).") }
            await deployment.agent?.killAndReap()
            let active = try #require(
                try FileManager.default.contentsOfDirectory(atPath: logs).sorted()
                    .last { $0.hasSuffix("-application.log") })
            // In the last frame.
            try Self.flip(logs + "/" + active, at: { $0.count - 20 })
            try deployment.startAgent()
            try await deployment.waitUntilAgentAnswers()
            try await log("third.")
            var lines = try await shown()
            #expect(lines.contains("second 1.") && !lines.contains("second 3.") && lines.contains("third."), "\(lines)")
            #expect(lines.contains("first 1."), "\(lines)")
            let frame = try await verified()
            #expect(frame.ending == .exited(1) && frame.output.contains(active), "\(frame)")

            try await deployment.stopAgent()
            try Self.flip(logs + "/" + sealed, at: { $0.count / 3 })
            try deployment.startAgent()
            try await deployment.waitUntilAgentAnswers()
            lines = try await shown()
            #expect(!lines.contains("first 1.") && lines.contains("second 1.") && lines.contains("third."), "\(lines)")
            let block = try await verified()
            #expect(block.ending == .exited(1) && block.output.contains(sealed), "\(block)")
            let acknowledged = try await deployment.record(events: 1, prefix: "after")
            try await deployment.expectExactlyOnce(acknowledged: acknowledged)
        }
    }

    private static func sealedStateFiles(_ deployment: Deployment) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: deployment.agentData).sorted().filter { name in
            let bytes = FileManager.default.contents(atPath: "\(deployment.agentData)/\(name)")
            return bytes?.starts(with: Data("WS1S".utf8)) == true
        }
    }

    /// Flips a bit of the byte at a place of the file.
    private static func flip(_ path: String, at place: (Data) -> Int) throws {
        let url = URL(fileURLWithPath: path)
        var bytes = try Data(contentsOf: url)
        bytes[place(bytes)] ^= 0x10
        try bytes.write(to: url)
    }

    /// Flips a bit in the sealed body of an event that waits. SQLite has no check sums, so it finds nothing wrong.
    private static func damageBody(in directory: String) throws {
        let queue = try Connection(path: directory + "/queue.sqlite", options: Connection.Options(mode: .readWrite))
        defer { try? queue.close() }
        let row = try queue.prepare("SELECT number, key_id, body FROM event ORDER BY number LIMIT 1 OFFSET 4")
        try #require(try row.step())
        let number = row.int64(0)
        try #require(row.int64(1) != 0, "the row is not sealed")
        var body = row.data(2)
        row.reset()
        body[body.count / 2] ^= 0x10
        let update = try queue.prepare("UPDATE event SET body = ? WHERE number = ?")
        try update.bind(body, at: 1)
        try update.bind(number, at: 2)
        try update.run()
    }
}
