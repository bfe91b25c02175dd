import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import Testing
import WireModel

/// What damage destroys in a device's queue is counted and reported on both sides, and what is left goes on.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct QueueDamageTests {
    enum Damage: String, CaseIterable, CustomTestStringConvertible {
        case zeroed, removed, cut, flipped

        var testDescription: String { rawValue }

        /// Behind the header and some of the frames that were written.
        private var middle: Int { 32 + 4120 * 20 + 100 }

        func inflict(on wal: String) throws {
            let url = URL(fileURLWithPath: wal)
            var bytes = try Data(contentsOf: url)
            switch self {
            case .removed: return try FileManager.default.removeItem(at: url)
            case .zeroed: bytes = Data(count: bytes.count)
            case .cut: bytes = bytes.prefix(middle)
            case .flipped: bytes[middle] ^= 0x40
            }
            try bytes.write(to: url)
        }
    }

    @Test(arguments: Damage.allCases)
    func `Promised events that disappear with a damaged WAL are counted and reported`(_ damage: Damage) async throws {
        try await Deployment.run { deployment in
            try await deployment.startCollector()
            try deployment.startAgent()
            try await deployment.waitUntilAgentAnswers()
            let before = try await deployment.record(events: 3, prefix: "before")
            try await deployment.waitUntilSent()
            try await deployment.stopCollector()
            let promised = try await deployment.record(events: 30, prefix: "promised")
            await deployment.agent?.killAndReap()
            try damage.inflict(on: deployment.agentData + "/queue.sqlite-wal")

            try await deployment.startCollector()
            try deployment.startAgent()
            try await deployment.waitUntilAgentAnswers()
            let after = try await deployment.record(events: 3, prefix: "after")
            try await deployment.waitUntilSent()
            try await deployment.until("the former epoch is settled", while: deployment.agent) {
                (try await deployment.balance(.agent)["event"]?.first?.dropped["moved"] ?? 0) >= 30
            }
            try await deployment.waitUntilSent()
            let stored = Set(try await deployment.storedEvents().keys)
            #expect(stored.isSuperset(of: before) && stored.isSuperset(of: after))
            let missing = promised.subtracting(stored)
            let balance = try #require(try await deployment.balance(.agent)["event"]?.first)
            #expect(
                balance.closes && balance.dropped["salvage"] == (missing.isEmpty ? nil : UInt64(missing.count)),
                "\(balance)")
            #expect(missing.isEmpty == (damage == .flipped), "\(missing.count) of 30 are missing")

            let status = try await Program.agent.run(["status", "--data", deployment.agentData])
            #expect(status.output.contains("salvaged") && status.output.contains("queue.epoch"), "\(status)")
            try await deployment.expectExactlyOnce(
                acknowledged: before.union(after).union(promised.intersection(stored)),
                droppedOnlyFor: ["salvage", "moved"])
            guard !missing.isEmpty else { return }
            // What the collector had to report was written when it stopped, at the latest.
            try await deployment.startCollector()
            let notices = try await Self.notices(deployment)
            #expect(notices.contains("queue-damaged") && notices.contains("lost on the device"), "\(notices)")
        }
    }

    @Test func `A device whose identity is gone goes on as the same device`() async throws {
        try await Deployment.run { deployment in
            try await deployment.startCollector()
            try deployment.startAgent()
            try await deployment.waitUntilAgentAnswers()
            var acknowledged = try await deployment.record(events: 3, prefix: "before")
            try await deployment.waitUntilSent()
            await deployment.agent?.killAndReap()
            try FileManager.default.removeItem(atPath: deployment.agentData + "/identity")
            try deployment.startAgent()
            try await deployment.waitUntilAgentAnswers()
            acknowledged.formUnion(try await deployment.record(events: 3, prefix: "after"))
            try await deployment.expectExactlyOnce(acknowledged: acknowledged)
            #expect(try await deployment.balance(.collector)["event"]?.count == 1, "one device")
        }
    }

    @Test func `A denial whose file is gone holds still`() async throws {
        try await Deployment.run { deployment in
            try await deployment.startCollector()
            try deployment.startAgent()
            try await deployment.waitUntilAgentAnswers()
            let denied = try await Program.agent.run(["consent", "denied", "--data", deployment.agentData])
            #expect(denied.succeeded, "\(denied)")
            await deployment.agent?.killAndReap()
            try FileManager.default.removeItem(atPath: deployment.agentData + "/consent.json")
            try deployment.startAgent()
            try await deployment.waitUntilAgentAnswers()
            let status = try await Program.agent.run(["status", "--data", deployment.agentData])
            #expect(status.output.contains("denied"), "\(status)")
            #expect(FileManager.default.fileExists(atPath: deployment.agentData + "/consent.json"))
        }
    }

    @Test func `Commands for a directory where no agent has run leave it as it is`() async throws {
        try await Deployment.run { deployment in
            let directory = deployment.directory + "/mistyped"
            for arguments in [["event", "door", "7"], ["beacon"], ["status"], ["balance"]] {
                let outcome = try await Program.agent.run(arguments + ["--data", directory])
                #expect(outcome.ending == .exited(1), "\(outcome)")
                #expect(outcome.errors.contains(directory) && outcome.errors.contains("ws1agent run"), "\(outcome)")
                #expect(!FileManager.default.fileExists(atPath: directory), "\(arguments) left something behind")
            }
            let log = try await Program.agent.run(["log", "info", "a line", "--data", directory])
            #expect(log.succeeded && log.errors.contains("\(directory)/logs was made"), "\(log)")
            let again = try await Program.agent.run(["log", "info", "another", "--data", directory])
            #expect(again.succeeded && again.errors.isEmpty, "\(again)")
            // A log alone is no agent's queue.
            let event = try await Program.agent.run(["event", "door", "7", "--data", directory])
            #expect(
                event.ending == .exited(1) && !FileManager.default.fileExists(atPath: directory + "/queue.sqlite"),
                "\(event)")
        }
    }

    private static func notices(_ deployment: Deployment) async throws -> String {
        var request = HTTPClientRequest(url: deployment.collectorURL + "/api/v1/notices")
        request.headers.add(name: "authorization", value: "Bearer \(deployment.token("administrator-token"))")
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(30))
        return String(buffer: try await response.body.collect(upTo: 1 << 20))
    }
}
