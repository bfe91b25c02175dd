import Foundation
import HTTPTypes
import HummingbirdTesting
import StoreTestKit
import Testing
import WireModel

@testable import Collector

@Suite("Positions of a device")
struct PositionRoutesTests {
    private static let minute: Int64 = 60_000_000
    /// Microseconds of 2025-06-15T15:00:00Z.
    private static let start: Int64 = 1_749_999_600_000_000

    private static func sample(_ latitude: Double, _ longitude: Double = 13.4, time: Int64 = 0) -> Data {
        var sample = WireGPSSample()
        sample.fix = 3
        sample.location.latitude = latitude
        sample.location.longitude = longitude
        sample.location.altitudeMeters = 34.5
        sample.location.accuracyMeters = 4
        sample.location.time = time
        sample.speedMetersPerSecond = 1.5
        sample.courseDegrees = 270
        sample.satellitesUsed = 9
        return sample.encoded
    }

    private static var lost: Data {
        var sample = WireGPSSample()
        sample.fix = 1
        return sample.encoded
    }

    private static var withheld: Data {
        var sample = WireGPSSample()
        sample.fix = 3
        return sample.encoded
    }

    /// Stores one sample a minute.
    private func store(_ bodies: [Data], of device: DeviceID, in harness: Harness, test: Bool = false) async {
        var samples = ChainBuilder(stream: .sample)
        for (minute, body) in bodies.enumerated() {
            let part = samples.part(
                kind: .sampleGps, module: "gps", time: Self.start + Int64(minute) * Self.minute, test: test,
                bodies: [body])
            _ = await harness.store.append([part], from: device, receivedAt: Harness.now)
        }
    }

    private func coordinates(_ page: JSONObject) -> [Double?] {
        page.objects("items").map { $0["latitude"] as? Double }
    }

    @Test func `The list has every report, newest first, page by page`() async throws {
        let harness = Harness()
        let device = try await harness.enrolledDevice().id
        await store(
            [Self.sample(52.5, time: Self.start), Self.lost, Self.withheld, Self.sample(91), Data([0xFF])],
            of: device, in: harness)
        try await harness.route { client in
            let path = "/api/v1/devices/\(device)/positions"
            let all = try await client.json(path, bearer: "viewer-default")
            #expect(all.objects("items").map { $0.text("state") } == ["invalid", "withheld", "no-fix", "position"])
            let position = try #require(all.objects("items").last)
            #expect(position["latitude"] as? Double == 52.5 && position["longitude"] as? Double == 13.4)
            #expect(position["altitudeMeters"] as? Double == 34.5 && position.number("accuracyMeters") == 4)
            #expect(position["speedMetersPerSecond"] as? Double == 1.5 && position.number("courseDegrees") == 270)
            #expect(position.number("fix") == 3 && position.number("satellitesUsed") == 9)
            #expect(position.text("measuredAt") == "2025-06-15T15:00:00.000000Z")
            #expect(position.text("source") == "sample" && position["gap"] == nil)
            var (seen, next) = ([String?](), String?.some(""))
            while let cursor = next {
                let page = try await client.json(
                    path + "?limit=1" + (cursor.isEmpty ? "" : "&cursor=\(cursor)"), bearer: "viewer-default")
                seen += page.objects("items").map { $0.text("state") }
                next = page.text("next")
            }
            #expect(seen == ["invalid", "withheld", "no-fix", "position"])
            let later = try await client.json(path + "?from=2025-06-15T15:02:00Z", bearer: "viewer-default")
            #expect(later.objects("items").map { $0.text("state") } == ["invalid", "withheld"])
        }
    }

    @Test func `With a step, each has its newest position, and a gap where the fix was lost`() async throws {
        let harness = Harness()
        let device = try await harness.enrolledDevice().id
        await store(
            [Self.sample(1), Self.sample(2), Self.sample(3), Self.lost, Self.sample(5), Self.lost, Self.lost],
            of: device, in: harness)
        try await harness.route { client in
            let range = "?from=2025-06-15T15:00:00Z&to=2025-06-15T15:10:00Z"
            let path = "/api/v1/devices/\(device)/positions" + range
            let track = try await client.json(path + "&step=2m", bearer: "viewer-default")
            #expect(coordinates(track) == [nil, 5, 3, 2])
            #expect(track.objects("items").map { $0.flag("gap") } == [false, true, false, false])
            #expect(track.objects("items").first?.text("state") == "no-fix" && track.text("next") == nil)
            let one = try await client.json(path + "&step=1h", bearer: "viewer-default")
            #expect(coordinates(one) == [5] && one.objects("items").first?.flag("gap") == true)
            // The step leaves the reports without a fix out, and says when the first of them came.
            #expect(one.objects("items").first?.text("lostAt") == "2025-06-15T15:05:00.000000Z")
            #expect(
                track.objects("items").map { $0.text("lostAt") }
                    == [nil, "2025-06-15T15:05:00.000000Z", "2025-06-15T15:03:00.000000Z", nil])
        }
    }

    @Test func `Beacons that carry a location are listed on request`() async throws {
        let harness = Harness()
        let device = try await harness.enrolledDevice()
        var status = ChainBuilder(stream: .status)
        var beacon = WireBeacon()
        let silent = beacon.encoded
        (beacon.location.latitude, beacon.location.time) = (-33.9, Self.start)
        let batch = [status.part(kind: .beacon, bodies: [beacon.encoded, silent])].request
        try await harness.route { client in
            let answer = try await client.post(WireNames.batchesPath, bearer: device.credential, batch)
            #expect(answer.status == .ok)
            let path = "/api/v1/devices/\(device.id)/positions"
            #expect(try await coordinates(client.json(path, bearer: "viewer-default")) == [])
            for query in ["?source=beacon", "?source=beacon&step=5m&to=2025-06-16&from=2025-06-15"] {
                let page = try await client.json(path + query, bearer: "viewer-default")
                #expect(coordinates(page) == [-33.9])
                #expect(page.objects("items").first?.text("source") == "beacon")
            }
        }
    }

    @Test func `The device has its newest position, and tells that the fix is lost`() async throws {
        let harness = Harness()
        let device = try await harness.enrolledDevice()
        try await harness.route { client in
            func location() async throws -> JSONObject? {
                try await client.json("/api/v1/devices/\(device.id)", bearer: "viewer-default").object("location")
            }
            #expect(try await location() == nil)
            var status = ChainBuilder(stream: .status)
            var beacon = WireBeacon()
            (beacon.location.latitude, beacon.location.time) = (-33.9, Self.start - Self.minute)
            let batch = [status.part(kind: .beacon, bodies: [beacon.encoded])].request
            _ = try await client.post(WireNames.batchesPath, bearer: device.credential, batch)
            let told = try #require(try await location())
            #expect(told.object("position")?.text("source") == "beacon" && told.number("ageSeconds") == 460)
            #expect(told["lostSince"] == nil)
            await store([Self.sample(52.5, time: Self.start), Self.lost, Self.lost], of: device.id, in: harness)
            let known = try #require(try await location())
            #expect(known.object("position")?["latitude"] as? Double == 52.5)
            #expect(known.object("newest")?.text("state") == "no-fix")
            #expect(known.number("ageSeconds") == 400)
            #expect(known.text("lostSince") == "2025-06-15T15:01:00.000000Z", "the first of the two reports")
            // The list of devices reads no records.
            let list = try await client.json("/api/v1/devices", bearer: "viewer-default")
            #expect(list.objects("items").count == 1 && list.objects("items").first?["location"] == nil)
        }
    }

    @Test func `Another organization's device is not there, and test data only on request`() async throws {
        let harness = Harness()
        let device = try await harness.enrolledDevice(test: true).id
        await store([Self.sample(52.5)], of: device, in: harness, test: true)
        try await harness.route { client in
            let path = "/api/v1/devices/\(device)/positions"
            let stranger = try await client.send(.get, path, bearer: "administrator-other")
            #expect(stranger.status == .notFound)
            let usual = try await client.json(path, bearer: "viewer-default")
            #expect(coordinates(usual) == [])
            let withTest = try await client.json(path + "?test=true", bearer: "viewer-default")
            #expect(coordinates(withTest) == [52.5])
        }
    }

    @Test(arguments: [
        ("source=gps", "source"), ("step=0", "step"), ("step=1s", "step"), ("step=5m&limit=3", "limit"),
        ("step=5m&cursor=x", "cursor"), ("cursor=x", "cursor"), ("limit=0", "limit"), ("from=yesterday", "from"),
        ("step=5m&from=2025-02-01&to=2025-01-01", "from"), ("latitude=1", "latitude"),
    ])
    func `A wrong parameter is named`(query: String, name: String) async throws {
        let harness = Harness()
        let device = try await harness.enrolledDevice().id
        try await harness.route { client in
            let answer = try await client.send(
                .get, "/api/v1/devices/\(device)/positions?\(query)", bearer: "viewer-default")
            #expect(answer.status == .badRequest)
            #expect(try answer.problem.detail?.contains("`\(name)`") == true)
        }
    }

    @Test func `A cursor of another device is refused`() async throws {
        let harness = Harness()
        let (one, other) = (try await harness.enrolledDevice().id, try await harness.enrolledDevice().id)
        await store([Self.sample(1), Self.sample(2)], of: one, in: harness)
        try await harness.route { client in
            let page = try await client.json("/api/v1/devices/\(one)/positions?limit=1", bearer: "viewer-default")
            let cursor = try #require(page.text("next"))
            let answer = try await client.send(
                .get, "/api/v1/devices/\(other)/positions?cursor=\(cursor)", bearer: "viewer-default")
            #expect(answer.status == .badRequest)
        }
    }
}
