import Collector
import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import RecordStore
import Registry
import StoreTestKit
import TelemetryBasics
import Testing
import WireModel

@Suite("What people ask")
struct QueryTests {
    @Test func `Devices come in pages, without test devices unless asked for`() async throws {
        let harness = Harness()
        var ids: Set<String> = []
        for _ in 0..<5 { ids.insert(try await harness.enrolledDevice().id.description) }
        let hidden = try await harness.enrolledDevice(test: true).id.description
        let expected = ids
        try await harness.route { client in
            var found: [String] = []
            var path = "/api/v1/devices?limit=2"
            for _ in 0..<10 {
                let page = try await client.json(path, bearer: "viewer-default")
                found += page.objects("items").compactMap { $0.text("id") }
                guard let next = page.text("next") else { break }
                path = "/api/v1/devices?limit=2&cursor=\(next)"
            }
            #expect(found.count == 5)
            #expect(Set(found) == expected)
            let all = try await client.json("/api/v1/devices?test=true", bearer: "viewer-default")
            #expect(all.objects("items").contains { $0.text("id") == hidden })
            #expect(all["next"] is NSNull)
        }
    }

    @Test func `A fault of the disk is reported without the names of files`() async throws {
        let harness = Harness()
        let device = try await harness.enrolledDevice()
        harness.store.fail(StoreError(.io, "read failed on /srv/ws1collector/records/2026-11-21/event.sqlite"))
        try await harness.route { client in
            let response = try await client.send(.get, "/api/v1/devices/\(device.id)/balance", bearer: "viewer-default")
            #expect(response.status == .serviceUnavailable)
            let problem = try response.problem
            #expect(problem.code == "store-unavailable" && problem.detail?.contains("Its log says more") == true)
            #expect(!String(buffer: response.body).contains("/srv"), "neither in detail nor as the cause")
        }
    }

    @Test func `A balance of many epochs comes in pages, and its sums are of all`() async throws {
        let harness = Harness()
        let device = try await harness.enrolledDevice()
        for _ in 0..<5 {
            var events = ChainBuilder(stream: .event)
            _ = await harness.store.append([events.events(["a", "b"])], from: device.id, receivedAt: Harness.now)
        }
        try await harness.route { client in
            let path = "/api/v1/devices/\(device.id)/balance"
            var sizes: [Int] = []
            var epochs: Set<String> = []
            var cursor: String?
            repeat {
                let page = try await client.json(
                    path + "?limit=2" + (cursor.map { "&cursor=\($0)" } ?? ""), bearer: "viewer-default")
                sizes.append(page.objects("streams").count)
                epochs.formUnion(page.objects("streams").compactMap { $0.text("epoch") })
                let totals = try #require(page.object("totals"))
                #expect(totals.number("streams") == 5 && totals.number("recordsStored") == 10)
                #expect(page.flag("closes") == true)
                cursor = page.text("next")
            } while cursor != nil
            #expect(sizes == [2, 2, 1] && epochs.count == 5)
            let whole = try await client.json(path, bearer: "viewer-default")
            #expect(whole.objects("streams").count == 5 && whole["next"] == nil)
            try await client.send(.get, path + "?cursor=x", bearer: "viewer-default").expect(400, "invalid-parameter")
        }
    }

    /// With it a program other than the collector could wake the device.
    @Test(arguments: [("viewer", false), ("operator", true), ("administrator", true)])
    func `Only a person who may command a device sees its push token`(role: String, isShown: Bool) async throws {
        let harness = Harness()
        let device = try await harness.enrolledDevice()
        try await harness.route { client in
            var status = ChainBuilder(stream: .status)
            var beacon = WireBeacon()
            beacon.deviceName = "kiosk-1"
            beacon.pushToken.token = "secret-push-token"
            let part = status.part(kind: .beacon, bodies: [beacon.encoded, Data("no beacon secret-push-token".utf8)])
            #expect(
                try await client.post(WireNames.batchesPath, bearer: device.credential, [part].request).status == .ok)
            let encoded = Data("no beacon secret-push-token".utf8).base64EncodedString()
            var names = 0
            for path in ["/api/v1/devices", "/api/v1/devices/\(device.id)", "/api/v1/devices/\(device.id)/beacons"] {
                let answer = try await client.send(.get, path, bearer: "\(role)-default")
                #expect(answer.status == .ok)
                let text = String(buffer: answer.body)
                if text.contains("kiosk-1") { names += 1 }
                if path.hasSuffix("beacons") {
                    #expect(
                        text.contains("secret-push-token") == isShown && text.contains(encoded) == isShown,
                        "\(path): \(text)")
                } else if !isShown {
                    #expect(!text.contains("secret-push-token"), "\(path): \(text)")
                }
            }
            #expect(names == 3, "the beacon itself is shown")
        }
    }

    @Test func `Events are filtered and paged across devices without loss or repeat`() async throws {
        let harness = Harness()
        try await harness.route { client in
            var expected: Set<String> = []
            for index in 0..<3 {
                let device = try await harness.enrolledDevice()
                var events = ChainBuilder(stream: .event)
                let names = (0..<7).map { "event-\(index)-\($0)" }
                expected.formUnion(names)
                let parts = [events.events(names)]
                _ = try await client.post(WireNames.batchesPath, bearer: device.credential, parts.request)
            }
            var found: [String] = []
            var path = "/api/v1/events?limit=4"
            for _ in 0..<20 {
                let page = try await client.json(path, bearer: "viewer-default")
                found += page.objects("items").compactMap { $0.object("event")?.text("name") }
                guard let next = page.text("next") else { break }
                path = "/api/v1/events?limit=4&cursor=\(next)"
            }
            #expect(found.count == 21)
            #expect(Set(found) == expected)
            let one = try await client.json("/api/v1/events?name=event-1-3", bearer: "viewer-default")
            #expect(one.objects("items").count == 1)
        }
    }

    /// What is in the address, and which event it means.
    @Test(arguments: [
        ("name=c%2B%2B", "c++"), ("name=c++", "c  "), ("name=c%20%20", "c  "), ("name=100%2525", "100%25"),
        ("name=100%25", "100%"),
        ("n%61me=a%26b%3Dc", "a&b=c"), ("name=gr%C3%BC%C3%9Fe", "grüße"), ("name=x=y", "x=y"),
    ])
    func `Parameters are decoded once`(_ query: String, _ name: String) async throws {
        let harness = Harness()
        let device = try await harness.enrolledDevice()
        try await harness.route { client in
            var events = ChainBuilder(stream: .event)
            let names = ["c++", "c  ", "100%25", "100%", "a&b=c", "grüße", "x=y"]
            _ = try await client.post(WireNames.batchesPath, bearer: device.credential, [events.events(names)].request)
            let found = try await client.json("/api/v1/events?\(query)", bearer: "viewer-default")
            #expect(found.objects("items").compactMap { $0.object("event")?.text("name") } == [name])
        }
    }

    @Test(arguments: ["name=100%", "name=%zz", "name=%ff", "%zz=1", "limit=1&name=%C3"])
    func `What is not percent-encoding is refused`(_ query: String) async throws {
        try await Harness().route { client in
            for path in ["/api/v1/events", "/api/v1/devices/00000000-0000-4000-8000-000000000000/samples"] {
                let refused = try await client.send(.get, "\(path)?\(query)", bearer: "viewer-default")
                #expect(refused.status == .badRequest, "\(path)?\(query)")
                #expect(try refused.problem.code == "invalid-parameter", "\(path)?\(query)")
            }
        }
    }

    @Test func `Events show values, times and test data only on request`() async throws {
        let harness = Harness()
        let device = try await harness.enrolledDevice()
        var events = ChainBuilder(stream: .event)
        let parts = [events.events(["early"], time: Harness.now - 1_000_000)]
        let later = [events.events(["late"], time: Harness.now)]
        let hidden = [events.events(["hidden"], test: true)]
        try await harness.route { client in
            for part in [parts, later, hidden] {
                _ = try await client.post(WireNames.batchesPath, bearer: device.credential, part.request)
            }
            let path = "/api/v1/events?device=\(device.id)"
            let items = try await client.json(path, bearer: "viewer-default").objects("items")
            #expect(items.map { $0.object("event")?.text("name") } == ["late", "early"])
            #expect(items[0].object("event")?.number("value") == 42)
            #expect(items[0].object("event")?.text("valueType") == "integer")
            #expect(items[0].text("time") == "2025-06-15T15:06:40.000000Z")
            let from = try await client.json(path + "&from=2025-06-15T15:06:40Z", bearer: "viewer-default").objects(
                "items")
            #expect(from.map { $0.object("event")?.text("name") } == ["late"])
            let to = try await client.json(path + "&to=2025-06-15T17:06:40%2B02:00", bearer: "viewer-default").objects(
                "items")
            #expect(to.map { $0.object("event")?.text("name") } == ["early"])
            #expect(try await client.json(path + "&test=true", bearer: "viewer-default").objects("items").count == 3)
        }
    }

    @Test func `Beacons, samples and balance are shown`() async throws {
        let harness = Harness()
        let device = try await harness.enrolledDevice()
        let epoch = EpochID.random()
        var status = ChainBuilder(epoch: epoch, stream: .status)
        var samples = ChainBuilder(epoch: epoch, stream: .sample)
        var beacon = WireBeacon()
        beacon.trigger = .start
        beacon.compromised = .unknown
        beacon.deviceCompliance = .compliant
        beacon.processStartTime = Harness.now
        var sample = WireSystemSample()
        sample.uptimeSeconds = 1 << 60
        sample.memory.total = 4096
        let parts = [
            status.part(kind: .beacon, bodies: [beacon.encoded]),
            samples.part(kind: .sampleSystem, module: "system", bodies: [sample.encoded]),

        ]
        try await harness.route { client in
            _ = try await client.post(WireNames.batchesPath, bearer: device.credential, parts.request)
            let base = "/api/v1/devices/\(device.id)"
            let shown = try #require(
                try await client.json(base + "/beacons", bearer: "viewer-default").objects("items").first?.object(
                    "beacon"))
            #expect(shown.text("trigger") == "start")
            #expect(shown.text("processStartTime") == "2025-06-15T15:06:40.000000Z")
            let system = try await client.json(base + "/samples?module=system", bearer: "viewer-default").objects(
                "items")
            #expect(system.first?.object("sample")?.number("uptimeSeconds") == 1 << 60)
            #expect(system.first?.object("sample")?.object("memory")?.number("total") == 4096)
            #expect(system.first?.text("module") == "system")
            #expect(
                try await client.json(base + "/samples?module=gps", bearer: "viewer-default").objects("items").isEmpty)
            let balance = try await client.json(base + "/balance", bearer: "viewer-default")
            #expect(balance.flag("closes") == true)
            #expect(balance.objects("streams").map { $0.number("stored") } == [1, 1])
            let one = try await client.json(base, bearer: "viewer-default")
            #expect(one.text("name") == "kiosk-1")
            #expect(one.object("beacon")?.text("trigger") == "start")
            let verdicts = try #require(one.object("verdicts"))
            #expect(verdicts.text("compromised") == "unknown" && verdicts.text("deviceCompliance") == "compliant")
            #expect(verdicts.text("reportedAt") == one.text("lastBeaconAt"))
        }
    }

    @Test func `Samples come with their metrics where asked for`() async throws {
        let harness = Harness()
        let device = try await harness.enrolledDevice()
        var samples = ChainBuilder(stream: .sample)
        var sample = WireSystemSample()
        sample.uptimeSeconds = 77
        sample.memory.total = 4096
        sample.memory.free = 1024
        sample.activity.processesCreatedSinceBoot = 5
        var sales = WireMeasurement()
        (sales.name, sales.unit, sales.value.integer) = ("till.sales", "{sale}", 12)
        var till = WireCustomSample()
        till.measurements = [sales]
        let parts = [
            samples.part(kind: .sampleCustom, module: "till", bodies: [till.encoded]),
            samples.part(kind: .sampleSystem, module: "system", bodies: [sample.encoded]),
        ]
        try await harness.route { client in
            for part in parts {
                _ = try await client.post(WireNames.batchesPath, bearer: device.credential, [part].request)
            }
            let path = "/api/v1/devices/\(device.id)/samples"
            let items = try await client.json(path + "?metrics=true", bearer: "viewer-default").objects("items")
            #expect(items.map { $0.text("module") } == ["system", "till"])
            let metrics = try #require(items.first).objects("metrics")
            let free = try #require(metrics.first { $0.object("attributes")?.text("system.memory.state") == "free" })
            #expect(free.text("name") == "system.memory.usage")
            #expect(free.text("unit") == "By")
            #expect(free.number("value") == 1024)
            #expect(metrics.contains { $0.text("name") == "system.uptime" && $0.number("value") == 77 })
            #expect(!metrics.contains { $0.text("name") == "system.memory.linux.available" }, "absent is not zero")
            let created = try #require(metrics.first { $0.text("name") == "system.process.created" })
            #expect(created.text("startTime") == Timestamp.text(Harness.now - 5), "a total tells when it began")
            #expect(free["startTime"] == nil)
            let own = try #require(items.last).objects("metrics")
            #expect(
                own.map { $0.text("name") } == ["till.sales"] && own.first?.number("value") == 12,
                "a program names its own")
            let plain = try await client.json(path, bearer: "viewer-default").objects("items")
            #expect(plain.allSatisfy { $0["metrics"] == nil })
            #expect(
                try await client.send(.get, path + "?metrics=maybe", bearer: "viewer-default").status == .badRequest)
        }
    }

    @Test(arguments: [
        ("limit=0", "limit"), ("limit=1001", "limit"), ("limit=x", "limit"), ("cursor=%21", "cursor"),
        ("cursor=eHg", "cursor"),
        ("from=yesterday", "from"), ("to=2026-02-30", "to"), ("test=maybe", "test"), ("device=1", "device"),
        ("nmae=a", "nmae"),
        ("limit=1&limit=2", "limit"),
    ])
    func `A bad parameter is refused by name`(query: String, name: String) async throws {
        let harness = Harness()
        try await harness.route { client in
            let response = try await client.send(.get, "/api/v1/events?\(query)", bearer: "viewer-default")
            #expect(response.status == .badRequest)
            let problem = try response.problem
            #expect(problem.code == "invalid-parameter")
            #expect(problem.detail?.contains("`\(name)`") == true)
        }
    }
}
