import Foundation
import HTTPTypes
import HummingbirdTesting
import MetricCatalog
import StoreTestKit
import Testing
import WireModel

@testable import Collector

@Suite("Series of samples")
struct SeriesRouteTests {
    private static let minute: Int64 = 60_000_000
    private static let from = "2025-06-15T15:00:00Z"
    /// Microseconds of `from`.
    private static let start: Int64 = 1_749_999_600_000_000

    private func system(free: UInt64, switches: UInt64) -> Data {
        var sample = WireSystemSample()
        sample.intervalMicroseconds = 60_000_000
        sample.memory.total = 4096
        sample.memory.free = free
        sample.activity.contextSwitches = switches
        return sample.encoded
    }

    /// A device with four system samples, minutes apart, and a program's own between them.
    private func scene(_ harness: Harness, test: Bool = false) async throws -> DeviceID {
        let device = try await harness.enrolledDevice(test: test)
        var samples = ChainBuilder(stream: .sample)
        for minute in 0..<4 {
            let time = Self.start + Int64(minute) * Self.minute
            let part = samples.part(
                kind: .sampleSystem, module: "system", time: time,
                bodies: [system(free: UInt64(1000 + minute * 100), switches: UInt64(60 * (minute + 1)))])
            _ = await harness.store.append([part], from: device.id, receivedAt: Harness.now)
        }
        var sales = WireMeasurement()
        (sales.name, sales.unit, sales.value.integer) = ("till.sales", "{sale}", 12)
        var till = WireCustomSample()
        till.measurements = [sales]
        let part = samples.part(
            kind: .sampleCustom, module: "till", time: Self.start, bodies: [till.encoded, Data([0xFF])])
        _ = await harness.store.append([part], from: device.id, receivedAt: Harness.now)
        return device.id
    }

    private func values(_ series: JSONObject?, _ aggregate: String) -> [Double?]? {
        (series?.object("values")?[aggregate] as? [Any])?.map { $0 as? Double }
    }

    @Test func `A metric comes in steps`() async throws {
        let harness = Harness()
        let device = try await scene(harness)
        try await harness.route { client in
            let base = "/api/v1/devices/\(device)/samples/series?from=\(Self.from)&to=2025-06-15T15:06:00Z&step=120"
            let answer = try await client.json(
                base + "&metric=system.memory.usage&aggregate=mean,last,count,rate", bearer: "viewer-default")
            #expect(answer.number("stepSeconds") == 120 && answer.number("buckets") == 3)
            #expect(answer.text("from") == "2025-06-15T15:00:00.000000Z")
            let series = try #require(answer.objects("series").first)
            #expect(answer.objects("series").count == 1)
            #expect(
                series.text("unit") == "By" && series.text("kind") == "up-down-counter"
                    && series.text("module") == "system")
            #expect(series.object("attributes")?.text("system.memory.state") == "free")
            #expect(values(series, "mean") == [1050, 1250, nil])
            #expect(values(series, "last") == [1100, 1300, nil])
            #expect(values(series, "count") == [2, 2, 0])
            #expect(values(series, "rate") == [nil, nil, nil])
            let rates = try await client.json(
                base + "&metric=ws1.system.context_switches&aggregate=rate,increase", bearer: "viewer-default"
            ).objects("series").first
            #expect(values(rates, "rate") == [1.5, 3.5, nil])
            #expect(values(rates, "increase") == [180, 420, nil])
            // Several at once, those of programs too.
            let several = try await client.json(
                base + "&metric=system.memory.limit&metric=till.sales&metric=nobody.has.it", bearer: "viewer-default")
            #expect(several.objects("series").map { $0.text("metric") } == ["system.memory.limit", "till.sales"])
            #expect(several.objects("series").last?.text("module") == "till")
            // The form with a metric in the list's own path.
            let same = try await client.json(
                """
                /api/v1/devices/\(device)/samples?module=system&metric=system.memory.limit&from=\(Self.from)&step=1h&\
                to=2025-06-15T16:00:00Z
                """,
                bearer: "viewer-default")
            #expect(values(same.objects("series").first, "mean") == [4096])
        }
    }

    @Test func `Without a range, it is the last day`() async throws {
        let harness = Harness()
        let device = try await scene(harness)
        try await harness.route { client in
            let answer = try await client.json(
                "/api/v1/devices/\(device)/samples/series?metric=system.memory.limit", bearer: "viewer-default")
            #expect(answer.number("stepSeconds") == 300 && answer.number("buckets") == 288)
            #expect(values(answer.objects("series").first, "mean")?.compactMap { $0 } == [4096, 4096])
        }
    }

    @Test func `Another organization's device is not there, and test data only on request`() async throws {
        let harness = Harness()
        let device = try await scene(harness, test: true)
        try await harness.route { client in
            let path = "/api/v1/devices/\(device)/samples/series?metric=system.memory.limit"
            let foreign = try await client.send(.get, path, bearer: "administrator-other")
            #expect(foreign.status == .notFound)
            #expect(try await client.json(path, bearer: "viewer-default").objects("series").isEmpty)
            #expect(try await client.json(path + "&test=true", bearer: "viewer-default").objects("series").count == 1)
        }
    }

    @Test(arguments: [
        ("", "metric"), ("metric=a&step=0", "step"), ("metric=a&step=x", "step"), ("metric=a&step=367d", "step"),
        ("metric=a&step=9223372036854775807m", "step"), ("metric=a&from=2025-01-01&to=2025-02-01&step=1", "step"),
        ("metric=a&from=2025-02-01&to=2025-01-01", "from"), ("metric=a&aggregate=median", "aggregate"),
        ("metric=a&aggregate=mean,mean", "aggregate"), ("metric=a&attribute=x", "attribute"),
        ("metric=a&attribute=:x", "attribute"),
        ("metric=a&attribute=x:1&attribute=x:2", "attribute"), ("metric=a&stpe=1", "stpe"),
        ("metric=a&step=1&step=2", "step"),
        ((0..<17).map { "metric=m\($0)" }.joined(separator: "&"), "metric"),
    ])
    func `What cannot be is refused by its name`(query: String, name: String) async throws {
        let harness = Harness()
        let device = try await harness.enrolledDevice()
        try await harness.route { client in
            let response = try await client.send(
                .get, "/api/v1/devices/\(device.id)/samples/series?\(query)", bearer: "viewer-default")
            #expect(response.status == .badRequest)
            #expect(try response.problem.code == "invalid-parameter")
            #expect(try response.problem.detail?.contains("`\(name)`") == true)
        }
    }

    @Test func `The catalog says what there is`() async throws {
        try await Harness().route { client in
            let items = try await client.json("/api/v1/metrics-catalog", bearer: "viewer-default").objects("items")
            let load = try #require(items.first { $0.text("metric") == "system.cpu.load_average.1m" })
            #expect(load.text("unit") == "{thread}" && load.text("kind") == "gauge" && load.text("module") == "system")
            #expect(Set(items.compactMap { $0.text("metric") }) == Set(MetricCatalog.definitions.keys))
            #expect(items.allSatisfy { $0.text("module")?.isEmpty == false })
        }
    }
}
