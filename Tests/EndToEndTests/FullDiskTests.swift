import Foundation
import Testing
import WireModel

/// A full disk is said, counted and got over; what was on disk before is neither lost nor stuck.
///
/// Needs a file system of its own: a tmpfs, which only root may mount.
@Suite(.serialized, .timeLimit(.minutes(3)), .enabled(if: SmallDisk.canMount, "mounting a tmpfs needs root"))
struct FullDiskTests {
    @Test func `A full collector refuses, and nothing is lost or doubled`() async throws {
        let disk = try SmallDisk(megabytes: 160)
        defer { disk.remove() }
        try await Deployment.run(collectorData: disk.path + "/collector") { deployment in
            try await deployment.startCollector()
            try deployment.startAgent()
            try await deployment.waitUntilAgentAnswers()
            var acknowledged = try await deployment.record(events: 3, prefix: "before")
            try await deployment.waitUntilSent()

            let filler = try disk.fill()
            acknowledged.formUnion(try await deployment.record(events: 20, prefix: "full"))
            try await deployment.until("status names the collector's trouble", while: deployment.agent) {
                let status = try await Program.agent.run(["status", "--data", deployment.agentData])
                return status.output.contains("503") || status.output.contains("507")
                    || status.output.contains("store-unavailable")
            }
            let ready = await deployment.isReady()
            #expect(!ready, "/readyz calls a collector ready that cannot store")
            let home = try await Self.home(deployment)
            #expect(home.contains("The collector stores nothing."), "\(home.prefix(400))")

            try FileManager.default.removeItem(atPath: filler)
            try await deployment.expectExactlyOnce(acknowledged: acknowledged)
        }
    }

    /// Signs in and returns the console's home.
    private static func home(_ deployment: Deployment) async throws -> String {
        let token = try String(contentsOfFile: "\(deployment.collectorData)/administrator-token", encoding: .utf8)
        func exchange(_ head: String, _ body: String = "") async throws -> String {
            let text = "\(head)\r\nHost: collector\r\nConnection: close\r\n\r\n\(body)"
            return try await RawExchange.send(Data(text.utf8), to: deployment.collectorPort)
        }
        let form = "token=\(token.trimmingCharacters(in: .whitespacesAndNewlines))"
        let signedIn = try await exchange(
            """
            POST /sign-in HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: \
            \(form.utf8.count)
            """,
            form)
        let cookie = try #require(signedIn.firstMatch(of: #/(ws1_session=ws1s_[^;]+)/#), "\(signedIn)").output.1
        return try await exchange("GET / HTTP/1.1\r\nCookie: \(cookie)")
    }

    @Test func `A collector whose log cannot be written goes on`() async throws {
        try await Deployment.run { deployment in
            try await deployment.startCollector(under: ["/bin/sh", "-c", #"exec "$@" 2>/dev/full"#, "sh"])
            try deployment.startAgent()
            try await deployment.waitUntilAgentAnswers()
            let acknowledged = try await deployment.record(events: 3, prefix: "unlogged")
            try await deployment.expectExactlyOnce(acknowledged: acknowledged)
        }
    }

    @Test func `A full device says so, counts what it cannot accept and still sends`() async throws {
        let disk = try SmallDisk(megabytes: 160)
        defer { disk.remove() }
        try await Deployment.run(agentData: disk.path + "/agent") { deployment in
            try await deployment.startCollector()
            try deployment.startAgent()
            try await deployment.waitUntilAgentAnswers()
            var acknowledged = try await deployment.record(events: 3, prefix: "before")
            try await deployment.waitUntilSent()

            // What the queue has allocated beforehand still needs some.
            try await deployment.stopCollector()
            let filler = try disk.fill()
            // Long texts, because the agent's pauses become longer while the collector is away.
            let text = String(repeating: "full ", count: 12_000)
            var refused: Program.Outcome?
            for number in 1...170 where refused == nil {
                let outcome = try await Program.agent.run([
                    "event", "full.\(number)", text, "--data", deployment.agentData,
                ])
                if outcome.succeeded { acknowledged.insert("full.\(number)") } else { refused = outcome }
            }
            let refusal = try #require(refused, "10 MB were taken on a full disk")
            #expect([.exited(1), .exited(75)].contains(refusal.ending), "\(refusal)")
            #expect(
                refusal.errors.contains("space") || refusal.errors.contains("full"),
                "does not name the disk: \(refusal)")
            let dropped = try await deployment.balance(.agent)["event"]?.first?.dropped
            #expect(dropped == ["disk-full": 1], "the refused event is not counted: \(dropped ?? [:])")
            try await deployment.startCollector()
            // Sending, acknowledging and removing need no room.
            try await deployment.waitUntilSent()

            try FileManager.default.removeItem(atPath: filler)
            acknowledged.formUnion(try await deployment.record(events: 3, prefix: "after"))
            try await deployment.expectExactlyOnce(acknowledged: acknowledged, droppedOnlyFor: ["disk-full"])
        }
    }

    @Test func `A device without inodes waits and loses nothing`() async throws {
        let disk = try SmallDisk(megabytes: 160, inodes: 200)
        defer { disk.remove() }
        try await Deployment.run(agentData: disk.path + "/agent") { deployment in
            try await deployment.startCollector()
            try deployment.startAgent()
            try await deployment.waitUntilAgentAnswers()
            var acknowledged = try await deployment.record(events: 3, prefix: "before")
            try await deployment.stopAgent()

            let fillers = try disk.takeInodes()
            try deployment.startAgent()
            try await deployment.until("the agent says that it waits", while: deployment.agent) {
                Program.text("\(deployment.directory)/agent.log").contains("waits until there is room")
            }
            let command = try await deployment.record(event: "meanwhile", value: 1)
            if command.succeeded {
                acknowledged.insert("meanwhile")
            } else {
                #expect(command.ending == .exited(75), "\(command)")
            }

            try FileManager.default.removeItem(atPath: fillers)
            try await deployment.waitUntilAgentAnswers()
            acknowledged.formUnion(try await deployment.record(events: 3, prefix: "after"))
            try await deployment.expectExactlyOnce(acknowledged: acknowledged)
        }
    }

    /// The limit would end the process with a signal.
    @Test func `A limit on the size of files is reported and tried again later`() async throws {
        let data = FileManager.default.temporaryDirectory.appendingPathComponent("ws1-limit-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: data) }
        let line = String(repeating: "long ", count: 4000)
        let outcome = try await Program.agent.run(
            ["log", "information", line, "--data", data],
            under: ["/bin/sh", "-c", #"ulimit -f 4 && exec "$@""#, "sh"])
        #expect(outcome.ending == .exited(75) && outcome.errors.contains("File too large"), "\(outcome)")
        #expect(try await Program.agent.run(["log", "information", line, "--data", data]).succeeded)
    }
}
