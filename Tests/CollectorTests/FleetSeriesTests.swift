import Foundation
import HTTPTypes
import HummingbirdTesting
import Registry
import StoreTestKit
import Testing
import WireModel

@testable import Collector
@testable import MetricCatalog

@Suite("Metrics over the fleet and over time")
struct FleetSeriesTests {
    private static let minute: Int64 = 60_000_000
    /// 2025-06-15T15:00:00Z.
    private static let start: Int64 = 1_749_999_600_000_000
    private static let window = "from=2025-06-15T15:00:00Z&to=2025-06-15T15:20:00Z"

    private static func values(_ series: JSONObject?, _ name: String) -> [Double?]? {
        (series?[name] as? [Any])?.map { $0 as? Double }
    }

    /// A device with two samples in the first ten minutes, whose free memory is `free` and two more, and one in the
    /// second with `later`; its context switches grow by `free` a minute.
    private func send(_ harness: Harness, _ device: DeviceID, free: UInt64, later: UInt64?) async {
        var samples = ChainBuilder(stream: .sample)
        for (minute, value) in [(1, free), (2, free + 2), (15, later)] as [(Int64, UInt64?)] {
            guard let value else { continue }
            var sample = WireSystemSample()
            sample.intervalMicroseconds = UInt64(Self.minute)
            sample.memory.free = value
            sample.activity.contextSwitches = 60 * free
            let part = samples.part(
                kind: .sampleSystem, module: "system", time: Self.start + minute * Self.minute, bodies: [sample.encoded]
            )
            _ = await harness.store.append([part], from: device, receivedAt: Harness.now)
        }
    }

    @Test func `Each device counts once in a bucket`() async throws {
        let harness = Harness()
        for number in 1...20 as ClosedRange<UInt64> {
            let device = try await harness.enrolledDevice().id
            await send(harness, device, free: 100 * number - 1, later: number <= 5 ? 7 : nil)
        }
        // One of another organization and one that is test.
        await send(harness, try await harness.enrolledDevice("other").id, free: 9999, later: 9999)
        await send(harness, try await harness.enrolledDevice(test: true).id, free: 9999, later: nil)
        try await harness.route { client in
            let base = "/api/v1/metrics/series?metric=system.memory.usage&step=10m&\(Self.window)"
            let answer = try await client.json(base, bearer: "viewer-default")
            #expect(answer.number("devices") == 20 && answer.number("sampled") == nil && answer.text("by") == nil)
            #expect(answer.text("unit") == "By" && answer.text("aggregate") == "mean" && answer.number("buckets") == 2)
            let series = try #require(answer.objects("series").first)
            #expect(answer.objects("series").count == 1 && series.text("group") == nil)
            #expect(series.object("attributes")?.text("system.memory.state") == "free")
            #expect(series["devices"] as? [Int] == [20, 5])
            for (name, first) in [
                ("min", 100), ("p5", 100), ("p25", 500), ("p50", 1000), ("p75", 1500), ("p95", 1900), ("max", 2000),
                ("mean", 1050),
            ] as [(String, Double)] {
                #expect(Self.values(series, name) == [first, 7], "\(name)")
            }
            // Another word for a device's value.
            let most = try await client.json(base + "&aggregate=max", bearer: "viewer-default").objects("series").first
            #expect(Self.values(most, "max") == [2001, 7])
            // Counters are compared by their growth.
            let rates = try await client.json(
                "/api/v1/metrics/series?metric=ws1.system.context_switches&step=10m&\(Self.window)",
                bearer: "viewer-default")
            #expect(rates.text("aggregate") == "rate")
            #expect(Self.values(rates.objects("series").first, "max") == [1999, 499])
            let test = try await client.json(base + "&test=true", bearer: "viewer-default")
            #expect(test.number("devices") == 21 && Self.values(test.objects("series").first, "max") == [10_000, 7])
            let nobody = try await client.json("/api/v1/metrics/series?metric=no.such", bearer: "viewer-default")
            #expect(
                nobody.objects("series").isEmpty && nobody.number("stepSeconds") == 900
                    && nobody.number("buckets") == 96)
        }
    }

    @Test func `A sample looks at some devices and always at the same ones`() async throws {
        let harness = Harness()
        for number in 1...40 as ClosedRange<UInt64> {
            await send(harness, try await harness.enrolledDevice().id, free: number, later: nil)
        }
        try await harness.route { client in
            let base = "/api/v1/metrics/series?metric=system.memory.usage&step=20m&\(Self.window)"
            let one = try await client.json(base + "&sample=10", bearer: "viewer-default")
            #expect(one.number("devices") == 40 && one.number("sampled") == 10)
            #expect(one.objects("series").first?["devices"] as? [Int] == [10])
            let again = try await client.json(base + "&sample=10", bearer: "viewer-default")
            #expect(
                Self.values(again.objects("series").first, "mean") == Self.values(one.objects("series").first, "mean"))
            let all = try await client.json(base + "&sample=40", bearer: "viewer-default")
            #expect(all.number("sampled") == nil && all.objects("series").first?["devices"] as? [Int] == [40])
        }
    }

    @Test func `Groups of devices are compared`() async throws {
        try await UploadScene.play { scene in
            let metadata = scene.harness.metadata
            // Ten versions: one device has 1.0, two have 1.1, and so on.
            for version in 0..<10 {
                for _ in 0...version {
                    var request = WireEnrollRequest()
                    request.agentVersion = "1.\(version)"
                    request.application = "com.example.\(version % 2)"
                    request.operatingSystem.distribution = "debian"
                    request.operatingSystem.version = version < 5 ? "12" : "13"
                    _ = try await metadata.enroll(token: scene.harness.enrollmentToken, request: request)
                }
            }
            let devices = try await metadata.groupedDevices(organization: "default", withTest: false, by: .agentVersion)
            let groups = FleetGroup.groups(of: devices)
            // Fifty-five devices and the scene's own, which has reported no version.
            #expect(devices.count == 56 && groups.count == 11)
            #expect(Set(groups.filter { $0.value == .other }.keys) == ["", "1.0", "1.1"])
            let systems = try await metadata.groupedDevices(organization: "default", withTest: false, by: .os)
            #expect(
                Dictionary(grouping: systems, by: \.group).mapValues(\.count) == [
                    "debian 12": 15, "debian 13": 40, "": 1,
                ])
            let apps = try await metadata.groupedDevices(organization: "default", withTest: false, by: .application)
            #expect(
                Dictionary(grouping: apps, by: \.group).mapValues(\.count) == [
                    "com.example.0": 25, "com.example.1": 30, "": 1,
                ])
            #expect(try await metadata.groupedDevices(organization: "west", withTest: true, by: .application).isEmpty)
            // What the newest beacon says counts.
            var beacon = WireBeacon()
            (beacon.libraryVersion, beacon.applicationVersion) = ("2.0", "7.1")
            (beacon.operatingSystem.distribution, beacon.operatingSystem.version) = ("alpine", "3.22")
            let chain = ChainBuilder(stream: .status)
            var status = chain
            let sent = try await scene.client.post(
                WireNames.batchesPath, bearer: scene.device.credential,
                [status.part(kind: .beacon, bodies: [beacon.encoded])].request)
            #expect(sent.status == .ok)
            for (grouping, expected) in [
                (DeviceGrouping.agentVersion, "2.0"), (.os, "alpine 3.22"), (.applicationVersion, "7.1"),
                (.application, ""),
            ] {
                let found = try await metadata.groupedDevices(organization: nil, withTest: false, by: grouping)
                #expect(found.first { $0.id == scene.device.deviceID }?.group == expected, "\(grouping)")
            }
        }
    }

    @Test func `Groups are in the answer`() async throws {
        let harness = Harness()
        for (version, count) in [("1.1", 3), ("1.2", 2)] {
            for _ in 0..<count {
                var request = WireEnrollRequest()
                request.agentVersion = version
                let device = try await harness.metadata.enroll(token: "enroll-default", request: request).deviceID
                await send(harness, device, free: version == "1.1" ? 99 : 199, later: nil)
            }
        }
        try await harness.route { client in
            let answer = try await client.json(
                "/api/v1/metrics/series?metric=system.memory.usage&step=20m&by=agentVersion&\(Self.window)",
                bearer: "viewer-default")
            #expect(answer.text("by") == "agentVersion")
            #expect(answer.objects("series").map { $0.text("group") } == ["1.1", "1.2"])
            #expect(answer.objects("series").map { Self.values($0, "p50") } == [[100], [200]])
            #expect(answer.objects("series").map { $0["devices"] as? [Int] } == [[3], [2]])
        }
    }

    // MARK: Bounds

    private static func accumulator(_ points: [(module: String, state: String, minute: Int64, value: Double)]) throws
        -> SeriesAccumulator
    {
        let definition = try #require(MetricCatalog.definitions["system.memory.usage"])
        var accumulator = SeriesAccumulator(window: SeriesWindow(from: 0, to: 100 * minute, step: 10 * minute))
        for point in points {
            try accumulator.add(
                MetricPoint(definition: definition, attributes: ["state": .text(point.state)], value: point.value),
                at: SampleMoment(time: point.minute * minute, timeSinceBoot: 0, module: point.module))
        }
        return accumulator
    }

    @Test func `A device with several programs counts once with their mean`() throws {
        var fleet = FleetSeries(
            window: SeriesWindow(from: 0, to: 100 * Self.minute, step: 10 * Self.minute), aggregate: .last)
        let device = try Self.accumulator([
            ("a", "free", 1, 10), ("a", "free", 2, 20), ("b", "free", 3, 40), ("b", "free", 15, 5), ("a", "used", 1, 1),
        ])
        try fleet.add(device, to: .named("x"))
        let free = fleet.series[FleetSeries.Key(group: .named("x"), attributes: ["state": "free"])]
        #expect(free?.prefix(3) == [[30], [5], []] && free?.count == 10 && fleet.series.count == 2)
        #expect(FleetSeries.Spread([]) == nil && FleetSeries.Spread([3])?.p95 == 3)
        let wide = FleetSeries.Spread([-.greatestFiniteMagnitude, .greatestFiniteMagnitude])
        #expect(wide?.mean == 0)
    }

    @Test func `Too many series are refused`() throws {
        var fleet = FleetSeries(
            window: SeriesWindow(from: 0, to: 100 * Self.minute, step: 10 * Self.minute), aggregate: nil)
        let device = try Self.accumulator((0..<201).map { ("a", "\($0)", 1, 1) })
        let overflow = #expect(throws: FleetSeries.Overflow.self) { try fleet.add(device, to: .other) }
        #expect(overflow?.detail.contains("`attribute`") == true)
    }

    @Test func `Too many samples are refused with the number of devices that fit`() async throws {
        #expect(FleetSeriesRoutes.refusal(of: 60_000, by: 50, over: 1000) == nil)
        let refusal = try #require(FleetSeriesRoutes.refusal(of: 250_000, by: 50, over: 1000))
        #expect(refusal.code == "too-much" && refusal.status == 400)
        #expect(
            refusal.detail?.contains("about 5000 samples") == true
                && refusal.detail?.contains("about 400 devices") == true)
        // Before enough is known, and for few devices, the bound itself decides.
        #expect(FleetSeriesRoutes.refusal(of: 1_000_000, by: 10, over: 1000) == nil)
        #expect(FleetSeriesRoutes.refusal(of: 2_000_001, by: 10, over: 10) != nil)
    }
}
