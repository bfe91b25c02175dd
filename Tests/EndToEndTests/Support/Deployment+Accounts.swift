import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import Testing
import WireModel

/// What both sides say they have, and whether it is what was produced.
extension Deployment {
    private struct EventPage: Decodable {
        struct Event: Decodable { var name: String }
        struct Item: Decodable { var event: Event }
        var items: [Item]
        var next: String?
    }

    /// The balance as one program prints it: the streams' balances, wherever in the document they stand.
    func balance(_ program: Program) async throws -> [String: [StreamBalance]] {
        let outcome = try await program.run([
            "balance", "--json", "--data", program == .agent ? agentData : collectorData,
        ])
        guard outcome.succeeded else { throw EndToEndError("\(program.rawValue) balance: \(outcome)") }
        var found: [String: [StreamBalance]] = [:]
        func search(_ value: Any, under key: String) throws {
            if let object = value as? [String: Any] {
                if object["produced"] != nil {
                    let stream = object["stream"] as? String ?? key
                    let balance = try JSONDecoder().decode(
                        StreamBalance.self, from: JSONSerialization.data(withJSONObject: object))
                    found[stream, default: []].append(balance)
                } else {
                    for (key, value) in object { try search(value, under: key) }
                }
            } else if let list = value as? [Any] {
                for value in list { try search(value, under: key) }
            }
        }
        try search(JSONSerialization.jsonObject(with: Data(outcome.output.utf8)), under: "")
        return found
    }

    /// Returns when the agent says that nothing waits in the streams of events and status.
    func waitUntilSent(within limit: Duration = .seconds(60)) async throws {
        try await until("nothing waits at the agent", within: limit, while: agent) {
            let balance = try await self.balance(.agent)
            return ["event", "status"].allSatisfy { stream in (balance[stream] ?? []).allSatisfy { $0.waiting == 0 } }
        }
    }

    /// How often each event is stored, by name, as the collector reports to people.
    func storedEvents() async throws -> [String: Int] {
        let token = token("administrator-token")
        var counts: [String: Int] = [:]
        var cursor: String?
        repeat {
            let suffix =
                cursor.map { "&cursor=" + ($0.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? $0) }
                ?? ""
            var request = HTTPClientRequest(url: "\(collectorURL)/api/v1/events?limit=500\(suffix)")
            request.headers.add(name: "authorization", value: "Bearer \(token)")
            // The client treats what is compressed more than 25 times as an attack; events of a test may well be.
            request.headers.add(name: "accept-encoding", value: "identity")
            let response = try await HTTPClient.shared.execute(request, timeout: .seconds(30))
            let body = try await response.body.collect(upTo: 16 << 20)
            guard response.status == .ok else {
                throw EndToEndError("GET /api/v1/events: \(response.status) \(String(buffer: body))")
            }
            let page = try JSONDecoder().decode(EventPage.self, from: Data(body.readableBytesView))
            for item in page.items { counts[item.event.name, default: 0] += 1 }
            cursor = page.next
        } while cursor != nil
        return counts
    }

    /// Stops both in order and holds what both sides say against each other and against what was produced.
    ///
    /// - Parameters:
    ///   - acknowledged: events whose producer heard that they are on disk: each must be stored exactly once.
    ///   - attempted: events whose producer heard nothing: each may be stored, but not twice.
    ///   - reasons: for which records may have been dropped.
    func expectExactlyOnce(
        acknowledged: Set<String>, attempted: Set<String> = [], droppedOnlyFor reasons: Set<String> = []
    ) async throws {
        try await waitUntilSent()
        let stored = try await storedEvents()
        #expect(acknowledged.filter { stored[$0] == nil }.sorted().isEmpty, "acknowledged and not stored")
        // The library's own usage events, such as a launch, have the same name each time.
        let ours = stored.filter { acknowledged.contains($0.key) || attempted.contains($0.key) }
        #expect(ours.filter { $0.value > 1 }.keys.sorted().isEmpty, "stored more than once")
        #expect(ours.count >= acknowledged.count)

        try await stopAgent()
        try await stopCollector()
        let (device, collector) = (try await balance(.agent), try await balance(.collector))
        for stream in ["status", "event", "sample"] {
            let here = try #require(device[stream]?.first, "the agent's balance has no stream \(stream)")
            let there = collector[stream] ?? []
            #expect(here.closes, "\(stream) at the agent: \(here)")
            let storedThere = there.reduce(0) { $0 + $1.stored }
            #expect(there.filter { !$0.closes }.isEmpty, "\(stream) at the collector: \(there)")
            #expect(storedThere == here.stored, "\(stream): \(there) at the collector, \(here) at the agent")
            #expect(here.waiting == 0 && here.rejected.isEmpty && here.lostAtCollector == 0, "\(stream): \(here)")
            #expect(reasons.isSuperset(of: here.dropped.keys), "\(stream): \(here)")
            #expect(here.stored > 0, "\(stream): nothing was stored, so nothing was tested")
        }
        let verified = try await Program.collector.run(["verify", "--data", collectorData])
        #expect(verified.succeeded, "ws1collector verify: \(verified)")
    }
}
