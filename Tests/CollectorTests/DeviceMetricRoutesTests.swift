import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import RecordStore
import StoreTestKit
import Testing
import WireModel

@testable import Collector

@Suite("/metrics/devices")
struct DeviceMetricRoutesTests {
    private static let openMetrics: HTTPFields = [.accept: "application/openmetrics-text;version=1.0.0"]

    /// A collector with a clock that can be moved.
    private struct Scene {
        let clock: SteppedClock
        let harness: Harness

        init(_ names: [String] = ["custom:till.sales"], series: Int = 1000, age: Int64 = 720) throws {
            let clock = SteppedClock()
            self.clock = clock
            let choice = try DeviceMetricChoice(names)
            harness = Harness(clock: { clock.now() }) { settings in
                settings.deviceMetrics.choice = choice
                settings.deviceMetrics.maximumSeries = series
                settings.deviceMetrics.ageSeconds = age
            }
        }

        func answer(
            _ client: any TestClientProtocol, as token: String = "scraper-default", _ headers: HTTPFields = [:],
            query: String = ""
        ) async throws -> String {
            let response = try await client.send(.get, "/metrics/devices\(query)", bearer: token, headers: headers)
            let text = String(buffer: response.body)
            #expect(response.status == .ok, "\(text)")
            return text
        }
    }

    /// A device and its stream of samples.
    private struct Sender {
        let id: DeviceID
        var chain = ChainBuilder(stream: .sample)

        /// Sends one sample of a custom module, with one value for each shop.
        mutating func send(
            _ scene: Scene, _ values: [(shop: String, value: Int64)], secondsOld: Int64 = 0, test: Bool = false,
            module: String = "till", name: String = "till.sales", unit: String = "{sale}"
        ) async {
            var sample = WireCustomSample()
            sample.measurements = values.map { shop, value in
                var measurement = WireMeasurement()
                (measurement.name, measurement.unit, measurement.value.integer) = (name, unit, value)
                if !shop.isEmpty { measurement.attributes = ["shop": shop] }
                return measurement
            }
            let now = scene.clock.now()
            let part = chain.part(
                kind: .sampleCustom, module: module, time: now - secondsOld * 1_000_000, test: test,
                bodies: [sample.encoded])
            _ = await scene.harness.store.append([part], from: id, receivedAt: now)
        }
    }

    private static func sales(in text: String) -> [String] {
        text.split(separator: "\n").filter { $0.hasPrefix("till_sales{") }.map(String.init)
    }

    @Test func `Each device's newest values have the labels of device and metric`() async throws {
        let scene = try Scene()
        try await scene.harness.route { client in
            var sender = Sender(id: try await scene.harness.enrolledDevice().id)
            await sender.send(scene, [("old \"a\"", 1)], secondsOld: 60)
            await sender.send(scene, [("north\\1\n", 7), ("south", 8)])
            let text = try await scene.answer(client)
            let device = #"device_id="\#(sender.id)",device_name="kiosk-1",organization="default""#
            #expect(
                Self.sales(in: text) == [
                    #"till_sales{\#(device),otel_scope_name="till",shop="north\\1\n"} 7"#,
                    #"till_sales{\#(device),otel_scope_name="till",shop="south"} 8"#,
                ], "\(text)")
            #expect(text.contains("# TYPE till_sales gauge\n"))
            #expect(text.contains("ws1_device_metrics_sample_timestamp_seconds{\(device)} 1750000000\n"))
            #expect(text.contains(#"ws1_device_metrics_devices{organization="default",state="shown"} 1"#))
            #expect(text.contains(#"ws1_device_metrics_series{organization="default",state="shown"} 2"#))
            #expect(!text.contains("# EOF"))
            let open = try await scene.answer(client, Self.openMetrics)
            #expect(Self.sales(in: open) == Self.sales(in: text))
            #expect(open.hasSuffix("# EOF\n"))
        }
    }

    @Test func `An answer names its format and what it depends on`() async throws {
        let scene = try Scene()
        try await scene.harness.route { client in
            var sender = Sender(id: try await scene.harness.enrolledDevice().id)
            await sender.send(scene, (0..<100).map { ("\($0)", 1) })
            let plain = try await client.send(.get, "/metrics/devices", bearer: "scraper-default")
            #expect(plain.headers[.contentType] == "text/plain; version=0.0.4; charset=utf-8")
            #expect(plain.headers[.vary] == "Accept, Accept-Encoding")
            var headers = Self.openMetrics
            headers[.acceptEncoding] = "gzip"
            let open = try await client.send(.get, "/metrics/devices", bearer: "scraper-default", headers: headers)
            #expect(
                open.headers[.contentType] == "application/openmetrics-text; version=1.0.0; charset=utf-8")
            #expect(open.headers[.contentEncoding] == "gzip" && open.body.readableBytes < plain.body.readableBytes / 2)
        }
    }

    @Test func `A token sees its organization alone, and a scraper nothing else`() async throws {
        let scene = try Scene()
        try await scene.harness.route { client in
            for organization in ["default", "other"] {
                var sender = Sender(id: try await scene.harness.enrolledDevice(organization).id)
                await sender.send(scene, [(organization, 1)])
            }
            for organization in ["default", "other"] {
                let text = try await scene.answer(client, as: "scraper-\(organization)")
                #expect(Self.sales(in: text).count == 1 && text.contains("shop=\"\(organization)\""))
                let stranger = organization == "default" ? "other" : "default"
                #expect(!text.contains(stranger), "\(text)")
            }
            let all = try await scene.answer(client, as: "administrator-all")
            #expect(Self.sales(in: all).count == 2)
            #expect(
                Self.sales(in: try await scene.answer(client, as: "administrator-all", query: "?organization=other"))
                    .count == 1)
            #expect(Self.sales(in: try await scene.answer(client, as: "viewer-other")).count == 1)
            for path in ["/api/v1/devices", "/api/v1/metrics/latest?metric=till.sales", "/api/v1/logs"] {
                #expect(try await client.send(.get, path, bearer: "scraper-default").status == .forbidden, "\(path)")
            }
            #expect(try await client.send(.get, "/metrics/devices").status == .unauthorized)
            let unknown = try await client.send(.get, "/metrics/devices?metric=x", bearer: "scraper-default")
            #expect(unknown.status == .badRequest)
        }
    }

    @Test func `A value that is too old is not shown, and the device is counted`() async throws {
        let scene = try Scene(age: 300)
        try await scene.harness.route { client in
            var (early, late) = (
                Sender(id: try await scene.harness.enrolledDevice().id),
                Sender(id: try await scene.harness.enrolledDevice().id)
            )
            await early.send(scene, [("a", 1)])
            await late.send(scene, [("b", 2)], secondsOld: 299)
            #expect(Self.sales(in: try await scene.answer(client)).count == 2)
            scene.clock.advance(seconds: 200)
            let text = try await scene.answer(client)
            #expect(Self.sales(in: text).count == 1 && text.contains("shop=\"a\""), "\(text)")
            #expect(text.contains(#"ws1_device_metrics_devices{organization="default",state="without-values"} 1"#))
            // What waited on the device is older than what is shown, whenever it comes.
            await late.send(scene, [("b", 3)], secondsOld: 400)
            #expect(Self.sales(in: try await scene.answer(client)).count == 1)
            await late.send(scene, [("b", 4)], secondsOld: 10)
            #expect(Self.sales(in: try await scene.answer(client)).contains { $0.hasSuffix(" 4") })
            // A clock that is ahead does not keep a value longer.
            await early.send(scene, [("a", 5)], secondsOld: -86_400)
            #expect(Self.sales(in: try await scene.answer(client)).contains { $0.hasSuffix(" 5") })
            scene.clock.advance(seconds: 301)
            #expect(Self.sales(in: try await scene.answer(client)).isEmpty)
        }
    }

    @Test func `Test data is shown only on request`() async throws {
        let scene = try Scene()
        try await scene.harness.route { client in
            var device = Sender(id: try await scene.harness.enrolledDevice(test: true).id)
            await device.send(scene, [("a", 1)])
            var other = Sender(id: try await scene.harness.enrolledDevice().id)
            await other.send(scene, [("b", 1)], test: true)
            #expect(Self.sales(in: try await scene.answer(client)).isEmpty)
            #expect(Self.sales(in: try await scene.answer(client, query: "?test=true")).count == 2)
        }
    }

    @Test func `Over the limit the first devices by id remain, whatever came first, and the answer says so`()
        async throws
    {
        let scene = try Scene(series: 100)
        try await scene.harness.route { client in
            var senders: [Sender] = []
            for _ in 0..<5 { senders.append(Sender(id: try await scene.harness.enrolledDevice().id)) }
            senders.sort { ($0.id.high, $0.id.low) < ($1.id.high, $1.id.low) }
            var answers: Set<[String]> = []
            for order in [[4, 3, 2, 1, 0], [0, 1, 2, 3, 4], [2, 0, 4, 1, 3]] {
                for place in order {
                    let count = [40, 40, 100, 10, 100][place]
                    await senders[place].send(scene, (0..<count).map { ("\($0)", Int64(place)) })
                    // Each is read by itself, so that memory is short in between.
                    _ = try await scene.answer(client)
                }
                for format in [[:], Self.openMetrics] {
                    let text = try await scene.answer(client, format)
                    answers.insert(Self.sales(in: text))
                    #expect(text.contains(#"ws1_device_metrics_series{organization="default",state="shown"} 80"#))
                    #expect(text.contains(#"ws1_device_metrics_series{organization="default",state="left-out"} 210"#))
                    #expect(text.contains(#"ws1_device_metrics_devices{organization="default",state="left-out"} 3"#))
                    #expect(text.contains("ws1_device_metrics_series_limit 100\n"))
                    let notes = text.split(separator: "\n").filter { $0.contains("210 series of 3 devices") }
                    #expect(notes.count == 1 && notes[0].hasPrefix(format == [:] ? "# 210" : "# HELP "), "\(notes)")
                }
            }
            #expect(answers.count == 1 && answers.first?.count == 80)
            let ids = Set(answers.first?.map { $0.prefix { $0 != "," } } ?? [])
            #expect(ids == Set(senders.prefix(2).map { "till_sales{device_id=\"\($0.id)\"" }))
            // When the first ones are silent, the others have room.
            scene.clock.advance(seconds: 721)
            for place in [2, 4] { await senders[place].send(scene, (0..<40).map { ("\($0)", 0) }) }
            #expect(Self.sales(in: try await scene.answer(client)).count == 80)
        }
    }

    @Test func `A device with too many series keeps the first ones, and the others are counted`() async throws {
        let scene = try Scene(["custom:till.sales", "custom:till.refunds"], series: 10_000)
        try await scene.harness.route { client in
            var sender = Sender(id: try await scene.harness.enrolledDevice().id)
            let many = (0..<1500).map { (String(format: "%04d", $0), Int64($0)) }
            await sender.send(scene, many)
            await sender.send(scene, [("x", 1)], module: "other", name: "till.refunds")
            let text = try await scene.answer(client)
            let sales = Self.sales(in: text)
            #expect(sales.count == 999 && sales.last?.contains("shop=\"0998\"") == true)
            #expect(
                text.contains(#"ws1_device_metrics_series{organization="default",state="left-out"} 501"#), "\(text)")
            // It has fewer again.
            scene.clock.advance(seconds: 60)
            await sender.send(scene, [("x", 1)])
            let later = try await scene.answer(client)
            #expect(later.contains(#"ws1_device_metrics_series{organization="default",state="left-out"} 0"#))
        }
    }

    @Test func `A sample in several records is shown whole, and a value that few samples have stays`() async throws {
        let scene = try Scene(["custom:till.sales", "custom:till.rare"])
        try await scene.harness.route { client in
            var sender = Sender(id: try await scene.harness.enrolledDevice().id)
            await sender.send(scene, [("", 5)], secondsOld: 20, name: "till.rare", unit: "")
            await sender.send(scene, [("a", 1), ("b", 2)])
            await sender.send(scene, [("c", 3)])
            let text = try await scene.answer(client)
            #expect(Self.sales(in: text).count == 3, "\(text)")
            #expect(text.contains("\ntill_rare{"))
        }
    }

    @Test func `Attributes and names that devices choose cannot break the answer`() async throws {
        let scene = try Scene(["custom:a.b", "custom:a_b", "custom:ws1.device_metrics.devices", "custom:long"])
        try await scene.harness.route { client in
            var sender = Sender(id: try await scene.harness.enrolledDevice().id)
            await sender.send(scene, [("", 1)], name: "a.b", unit: "{x}")
            await sender.send(scene, [("", 2)], name: "a_b", unit: "{y}")
            await sender.send(scene, [("", 3)], name: "ws1.device_metrics.devices", unit: "")
            await sender.send(scene, [(String(repeating: "x", count: 5000), 4)], name: "long", unit: "")
            let text = try await scene.answer(client)
            #expect(text.split(separator: "\n").filter { $0.hasPrefix("a_b{") }.count == 1, "\(text)")
            #expect(text.split(separator: "\n").filter { $0.hasPrefix("# TYPE a_b ") }.count == 1)
            #expect(!text.contains("xxxxx"))
            #expect(text.split(separator: "\n").filter { $0.hasPrefix("ws1_device_metrics_devices{") }.count == 3)
        }
    }

    @Test func `Other metrics are chosen while the collector runs`() async throws {
        let scene = try Scene()
        try await scene.harness.route { client in
            var sender = Sender(id: try await scene.harness.enrolledDevice().id)
            await sender.send(scene, [("a", 1)])
            await sender.send(scene, [("a", 2)], module: "more", name: "till.refunds", unit: "By")
            #expect(Self.sales(in: try await scene.answer(client)).count == 1)
            var settings = DeviceMetricSettings()
            settings.choice = try DeviceMetricChoice(["custom:till.refunds"])
            await scene.harness.server.deviceMetrics.apply(settings)
            let text = try await scene.answer(client)
            #expect(Self.sales(in: text).isEmpty && text.contains("\ntill_refunds_bytes{"), "\(text)")
        }
    }

    @Test func `A record that was stored before the former answer is not decoded again`() async throws {
        var cache = DeviceMetricCache(try DeviceMetricChoice(["custom:till.sales"]))
        let scene = try Scene()
        var sender = Sender(id: .random())
        for value in 1...3 { await sender.send(scene, [("a", Int64(value))]) }
        cache.include(try await scene.harness.store.scan(.init(.one(sender.id), stream: .sample), after: nil).records)
        // Records of the same numbers and times, with values that would show.
        var impostor = Sender(id: .random())
        for _ in 1...3 { await impostor.send(scene, [("a", 99)]) }
        let others = try await scene.harness.store.scan(.init(.one(impostor.id), stream: .sample), after: nil).records
        cache.include(
            others.map { record in
                var record = record
                record.device = sender.id
                return record
            })
        let shown = try #require(cache.devices[sender.id]?.shown(since: 0, withTest: false).first)
        #expect(shown.values.points.map(\.value) == [3] && cache.size == 1)
    }
}
