import Foundation
import HTTPTypes
import HummingbirdTesting
import OTLP
import RecordStore
import StoreTestKit
import SwiftProtobuf
import Testing
import WireModel

@testable import Collector

@Suite("Events over the fleet")
struct EventRouteTests {
    /// Events `a0`, `b0`, `a1`, `b1` ... in the order of their receipt, from two devices.
    private func scene(_ harness: Harness, rounds: Int = 6) async throws -> [DeviceID] {
        let devices = [try await harness.enrolledDevice(), try await harness.enrolledDevice()]
        var chains = devices.map { _ in ChainBuilder(stream: .event) }
        for round in 0..<rounds {
            for (index, name) in ["a", "b"].enumerated() {
                let part = chains[index].events(
                    ["\(name)\(round)"], time: Harness.now + Int64(round - rounds) * 1_000_000)
                _ = await harness.store.append([part], from: devices[index].id, receivedAt: Harness.now)
            }
        }
        let foreign = try await harness.enrolledDevice("other")
        var chain = ChainBuilder(stream: .event)
        _ = await harness.store.append([chain.events(["foreign"])], from: foreign.id, receivedAt: Harness.now)
        return devices.map(\.id)
    }

    private func names(_ client: any TestClientProtocol, _ query: String, limit: Int) async throws -> [String] {
        var found: [String] = []
        var path = "/api/v1/events?limit=\(limit)\(query)"
        for _ in 0..<50 {
            let page = try await client.json(path, bearer: "viewer-default")
            found += page.objects("items").compactMap { $0.object("event")?.text("name") }
            guard let next = page.text("next") else { return found }
            path = "/api/v1/events?limit=\(limit)\(query)&cursor=\(next)"
        }
        return found
    }

    @Test func `Log records that came as OTLP are listed on request`() async throws {
        let harness = Harness()
        let device = try await harness.enrolledDevice()
        let sender = ItemSender(device: device.id)
        func run(_ context: String, _ names: [String]) throws -> UnnumberedItems.Run {
            var body = OTLPResourceLogs()
            var host = OTLPKeyValue()
            (host.key, host.value.stringValue) = ("host.name", context)
            body.resource.attributes = [host]
            func record(_ kind: WireRecordKind, _ body: Data) -> NewRecord {
                NewRecord(
                    stream: .event, kind: kind,
                    stamp: RecordStamp(wallTime: Harness.now, bootID: nil, timeSinceBoot: 0), body: body)
            }
            return UnnumberedItems.Run(
                context: record(.otlpContext, try body.serializedData()),
                items: try names.map { name in
                    var log = OTLPLogRecord()
                    (log.eventName, log.body.stringValue) = (name, "text of \(name)")
                    return UnnumberedItems.Item(record(.otlpLog, try log.serializedData()))
                })
        }
        let answer = await harness.store.append(
            sender.items(try run("x", ["one", "two"]), try run("y", ["three"])), to: .event)
        #expect(answer == UnnumberedAnswer(stored: 3, known: 0))
        var chain = ChainBuilder(stream: .event)
        _ = await harness.store.append([chain.events(["own"])], from: device.id, receivedAt: Harness.now)
        try await harness.route { client in
            #expect(try await names(client, "", limit: 10) == ["own"])
            #expect(try await names(client, "&kind=otlp-log", limit: 10) == ["three", "two", "one"])
            #expect(try await names(client, "&kind=otlp-log", limit: 1) == ["three", "two", "one"])
            #expect(try await names(client, "&kind=otlp-log&name=two", limit: 10) == ["two"])
            #expect(try await names(client, "&kind=otlp-log&value=text%20of%20one", limit: 10) == ["one"])
            #expect(try await names(client, "&kind=otlp-log&type=custom", limit: 10) == [])
            let page = try await client.json("/api/v1/events?kind=otlp-log", bearer: "viewer-default")
            let item = try #require(page.objects("items").first)
            #expect(item.object("otlp")?.text("body") == "text of three")
            #expect(item.object("context")?.object("resource")?.object("attributes")?.text("host.name") == "y")
            #expect(item.object("event")?.text("type") == "otlp-log" && item.text("body") == nil)
            let refused = try await client.send(.get, "/api/v1/events?kind=beacon", bearer: "viewer-default")
            #expect(refused.status == .badRequest)
        }
    }

    @Test func `Points that came as OTLP are shown among samples, with their context`() async throws {
        let harness = Harness()
        let device = try await harness.enrolledDevice()
        let sender = ItemSender(device: device.id, stream: .sample)
        var (context, points) = (OTLPResourceMetrics(), OTLPScopeMetrics())
        var scope = OTLPScopeMetrics()
        scope.scope.name = "till"
        context.scopeMetrics = [scope]
        var metric = OTLPMetric()
        metric.name = "queue.length"
        var point = OTLPNumberPoint()
        point.asInt = 7
        metric.gauge.dataPoints = [point]
        points.metrics = [metric]
        func record(_ kind: WireRecordKind, _ body: Data) -> NewRecord {
            NewRecord(
                stream: .sample, kind: kind, stamp: RecordStamp(wallTime: Harness.now, bootID: nil, timeSinceBoot: 0),
                body: body)
        }
        let run = UnnumberedItems.Run(
            context: record(.otlpContext, try context.serializedData()),
            items: [.init(record(.otlpMetrics, try points.serializedData()))])
        #expect(await harness.store.append(sender.items(run), to: .sample).stored == 1)
        try await harness.route { client in
            let page = try await client.json("/api/v1/devices/\(device.id)/samples", bearer: "viewer-default")
            #expect(page.objects("items").count == 1, "a context is no item of its own")
            let item = try #require(page.objects("items").first)
            let shown = try #require(item.object("otlp")?.objects("metrics").first)
            #expect(shown.text("name") == "queue.length" && item.text("body") == nil)
            #expect(item.object("context")?.object("scope")?.text("name") == "till")
        }
        // An export has both, as they are stored.
        let stored = try await harness.store.scan(RecordQuery(.one(device.id), stream: .sample), after: nil).records
        let lines = try stored.map { record in
            try #require(
                try JSONSerialization.jsonObject(
                    with: JSONEncoder().encode(ExportLine(record, of: .sample, organization: "default")))
                    as? [String: Any])
        }
        #expect(lines.compactMap { $0["kind"] as? String } == ["otlp-context", "otlp-metrics"])
        #expect(lines.allSatisfy { $0["context"] != nil && $0["body"] == nil } && lines.last?["otlp"] != nil)
    }

    @Test func `Events come newest first over all devices`() async throws {
        let harness = Harness()
        let devices = try await scene(harness)
        try await harness.route { client in
            let all = ["b5", "a5", "b4", "a4", "b3", "a3", "b2", "a2", "b1", "a1", "b0", "a0"]
            for limit in [1, 5, 12, 1000] {
                let found = try await names(client, "", limit: limit)
                #expect(found == all)
            }
            let expected: [(query: String, names: [String])] = [
                ("&device=\(devices[0])", all.filter { $0.hasPrefix("a") }), ("&name=a3", ["a3"]),
                ("&value=42&type=custom", all),
                ("&value=43", []), ("&type=launch", []), ("&application=till", []),
            ]
            for (query, names) in expected {
                let found = try await self.names(client, query, limit: 5)
                #expect(found == names, "\(query)")
            }
        }
    }

    @Test func `Lists carry the names of devices`() async throws {
        let harness = Harness()
        _ = try await scene(harness, rounds: 1)
        try await harness.route { client in
            let page = try await client.json("/api/v1/events", bearer: "viewer-default")
            #expect(page.objects("items").map { $0.text("deviceName") } == ["kiosk-1", "kiosk-1"])
            let summary = try await client.json("/api/v1/events/summary?by=device", bearer: "viewer-default")
            #expect(summary.objects("groups").map { $0.text("deviceName") } == ["kiosk-1", "kiosk-1"])
            let names = try await client.json("/api/v1/events/summary?by=name", bearer: "viewer-default")
            #expect(names.objects("groups").allSatisfy { $0.text("deviceName") == nil })
        }
    }

    @Test func `What is added meanwhile moves no page`() async throws {
        let harness = Harness()
        let devices = try await scene(harness)
        try await harness.route { client in
            let first = try await client.json("/api/v1/events?limit=4", bearer: "viewer-default")
            var late = ChainBuilder(stream: .event)
            _ = await harness.store.append([late.events(["late"])], from: devices[0], receivedAt: Harness.now)
            let next = try #require(first.text("next"))
            let rest = try await client.json("/api/v1/events?limit=100&cursor=\(next)", bearer: "viewer-default")
            let found = (first.objects("items") + rest.objects("items")).compactMap { $0.object("event")?.text("name") }
            #expect(found.count == 12 && !found.contains("late") && Set(found).count == 12)
            // A cursor belongs to its list.
            let other = try await client.send(
                .get, "/api/v1/events?device=\(devices[0])&cursor=\(next)", bearer: "viewer-default")
            #expect(try other.problem.code == "invalid-parameter")
        }
    }

    @Test func `Events are summed up`() async throws {
        let harness = Harness()
        _ = try await scene(harness)
        try await harness.route { client in
            let path = "/api/v1/events/summary?to=2025-06-15T15:06:40Z&from=2025-06-15T15:06:34Z"
            let byDevice = try await client.json(path + "&by=device", bearer: "viewer-default")
            #expect(byDevice.objects("groups").map { $0.number("count") } == [6, 6])
            let byValue = try await client.json(path + "&by=value&step=3", bearer: "viewer-default")
            let group = try #require(byValue.objects("groups").first)
            #expect(group.text("key") == "42" && group.number("count") == 12 && group.number("devices") == 2)
            #expect(group.object("numeric")?["mean"] as? Double == 42)
            #expect(group.object("buckets")?["count"] as? [Int] == [6, 6])
            let some = try await client.json(path + "&name=a3", bearer: "viewer-default").objects("groups")
            #expect(some.map { $0.text("key") } == ["a3"] && some.first?["buckets"] == nil)
            #expect(try await client.json(path + "&by=name", bearer: "viewer-default").objects("groups").count == 12)
            for wrong in ["by=color", "step=0", "type=x", "from=2026-01-01"] {
                let response = try await client.send(.get, "/api/v1/events/summary?\(wrong)", bearer: "viewer-default")
                #expect(try response.problem.code == "invalid-parameter")
            }
        }
    }

    @Test func `A large page is whole`() async throws {
        let harness = Harness()
        let device = try await harness.enrolledDevice()
        var chain = ChainBuilder(stream: .event)
        for round in 0..<7 {
            let part = chain.events((0..<100).map { "e\(round)-\($0)" })
            _ = await harness.store.append([part], from: device.id, receivedAt: Harness.now)
        }
        try await harness.route { client in
            let items = try await client.json("/api/v1/events?limit=1000", bearer: "viewer-default").objects("items")
            #expect(items.count == 700 && Set(items.compactMap { $0.object("event")?.text("name") }).count == 700)
        }
    }
}
