import Foundation
import HTTPTypes
import HummingbirdTesting
import StoreTestKit
import Testing
import WireModel

@testable import Collector

@Suite("Metrics over the fleet")
struct FleetMetricTests {
    /// Devices with free memory 100, 200, ...; only their first sample reports the number of cores.
    private func scene(_ harness: Harness, devices: Int) async throws -> [DeviceID] {
        var ids: [DeviceID] = []
        for number in 1...devices {
            let device = try await harness.enrolledDevice()
            ids.append(device.id)
            var samples = ChainBuilder(stream: .sample)
            for round in 0..<3 {
                var sample = WireSystemSample()
                if round == 0 { sample.identity.logicalCores = UInt32(number) }
                sample.memory.free = UInt64(number * 100 - 2 + round)
                sample.memory.cached = 5
                let part = samples.part(kind: .sampleSystem, module: "system", bodies: [sample.encoded])
                _ = await harness.store.append([part], from: device.id, receivedAt: Harness.now)
            }
        }
        // One that has never sent a sample, one that is test, one of others.
        _ = try await harness.enrolledDevice()
        for (organization, test) in [("default", true), ("other", false)] {
            let device = try await harness.enrolledDevice(organization, test: test)
            var sample = WireSystemSample()
            sample.memory.free = 77
            var samples = ChainBuilder(stream: .sample)
            let part = samples.part(kind: .sampleSystem, module: "system", bodies: [sample.encoded])
            _ = await harness.store.append([part], from: device.id, receivedAt: Harness.now)
        }
        return ids
    }

    @Test func `The newest value of each device comes in pages`() async throws {
        let harness = Harness()
        let expected = Set(try await scene(harness, devices: 7).map(\.description))
        try await harness.route { client in
            var found: [String: Double] = [:]
            let base = "/api/v1/metrics/latest?metric=system.memory.usage&attribute=system.memory.state:free&limit=3"
            var path = base
            for _ in 0..<10 {
                let page = try await client.json(path, bearer: "viewer-default")
                for item in page.objects("items") {
                    let values = item.objects("values")
                    #expect(values.count == 1 && item.text("unit") == "By" && item.text("module") == "system")
                    #expect(item.text("deviceName") == "kiosk-1")
                    #expect(
                        found.updateValue(values[0]["value"] as? Double ?? -1, forKey: item.text("device") ?? "") == nil
                    )
                }
                guard let next = page.text("next") else { break }
                path = base + "&cursor=\(next)"
            }
            #expect(Set(found.keys) == expected)
            #expect(found.values.sorted() == [100, 200, 300, 400, 500, 600, 700])
            // What only the first sample says.
            let cores = try await client.json(
                "/api/v1/metrics/latest?metric=system.cpu.logical.count", bearer: "viewer-default")
            #expect(
                cores.objects("items").compactMap { $0.objects("values").first?["value"] as? Double }.sorted() == [
                    1, 2, 3, 4, 5, 6, 7,
                ])
        }
    }

    @Test func `The greatest and the least of the fleet are found by name`() async throws {
        let harness = Harness()
        let devices = try await scene(harness, devices: 9)
        try await harness.route { client in
            func found(_ query: String) async throws -> (
                devices: [String], values: [Double], total: Int?, next: String?
            ) {
                let path = "/api/v1/metrics/latest?metric=system.memory.usage&\(query)"
                let page = try await client.json(path, bearer: "viewer-default")
                let items = page.objects("items")
                let values = items.compactMap { $0.objects("values").last?["value"] as? Double }
                return (items.compactMap { $0.text("device") }, values, page.number("total"), page.text("next"))
            }
            let free = "attribute=system.memory.state:free"
            let greatest = try await found("\(free)&sort=-value&limit=3")
            #expect(greatest.values == [900, 800, 700] && greatest.total == 9 && greatest.next == nil)
            #expect(greatest.devices == devices.suffix(3).reversed().map(\.description))
            #expect(try await found("\(free)&sort=value&limit=2").values == [100, 200])
            // Those beyond a percentile.
            let beyond = try await found("\(free)&sort=-value&atLeast=800")
            #expect(beyond.values == [900, 800] && beyond.total == 2)
            #expect(try await found("\(free)&sort=value&atMost=200.5").values == [100, 200])
            #expect(try await found("\(free)&sort=value&atLeast=150&atMost=350").values == [200, 300])
            // In the order of ids, too; of several values only those in the range are shown.
            let both = try await found("atLeast=600")
            #expect(both.values.sorted() == [600, 700, 800, 900] && both.total == nil)
            #expect(both.devices == both.devices.sorted())
            // Of a device with several values the one that decides is the least or the greatest.
            #expect(try await found("sort=value").values.count == 9)
            #expect(try await found("sort=-value&limit=1").devices == [devices[8].description])
        }
    }

    @Test func `Values are spread by attribute`() async throws {
        let harness = Harness()
        _ = try await scene(harness, devices: 10)
        try await harness.route { client in
            let answer = try await client.json(
                "/api/v1/metrics/distribution?metric=system.memory.usage", bearer: "viewer-default")
            #expect(answer.number("devices") == 10 && answer.text("unit") == "By")
            let distributions = answer.objects("distributions")
            #expect(distributions.map { $0.object("attributes")?.text("system.memory.state") } == ["cached", "free"])
            let free = try #require(distributions.last)
            #expect(free.number("count") == 10 && free["min"] as? Double == 100 && free["max"] as? Double == 1000)
            #expect(free["p50"] as? Double == 500 && free["p90"] as? Double == 900 && free["p99"] as? Double == 1000)
            #expect(free.objects("histogram").compactMap { $0.number("count") }.reduce(0, +) == 10)
            let nobody = try await client.json(
                "/api/v1/metrics/distribution?metric=no.such.metric", bearer: "viewer-default")
            #expect(nobody.number("devices") == 0 && nobody.objects("distributions").isEmpty)
        }
    }

    @Test(arguments: [
        ("latest", ""), ("distribution", ""), ("latest", "metric=a&attribute=b"), ("latest", "metric=a&limit=0"),
        ("latest", "metric=a&sort=device"), ("latest", "metric=a&sort=value&cursor=x"),
        ("latest", "metric=a&atLeast=x"),
        ("latest", "metric=a&atLeast=nan"), ("latest", "metric=a&atLeast=2&atMost=1"),
        ("distribution", "metric=a&sort=value"),
        ("series", ""), ("series", "metric=a&metric=b"), ("series", "metric=a&by=name"), ("series", "metric=a&step=0"),
        ("series", "metric=a&aggregate=median"), ("series", "metric=a&aggregate=mean,max"),
        ("series", "metric=a&sample=9"),
        ("series", "metric=a&limit=1"),
    ])
    func `What cannot be is refused`(route: String, query: String) async throws {
        try await Harness().route { client in
            let response = try await client.send(.get, "/api/v1/metrics/\(route)?\(query)", bearer: "viewer-default")
            #expect(try response.problem.code == "invalid-parameter")
        }
    }
}
