import CollectorAPI
import Foundation
import HTTPTypes
import HummingbirdTesting
import LogArchive
import Registry
import TelemetryBasics
import Testing
import WireModel

@testable import Collector

@Suite("Logs in numbers over HTTP")
struct LogCountRoutesTests {
    private static let second: Int64 = 1_000_000
    private static func time(_ seconds: Int64) -> String { Timestamp.text(Harness.now + seconds * second) }

    private static func fill(_ scene: UploadScene) async throws {
        for (segment, application, type) in [
            (1, "com.example.a", .application), (2, "com.example.b", .crash),
        ] as [(UInt64, String, LogType)] {
            var book = LogBook(application: application)
            try book.add(segment: segment, positions: 1...100, from: Harness.now + Int64(segment) * 100 * second)
            try await scene.upload(book, type: type)
        }
    }

    private static func counts(_ histogram: JSONObject, _ level: String) -> [Int?] {
        (histogram.object("buckets")?[level] as? [Any] ?? []).map { $0 as? Int }
    }

    @Test func `Lines are counted by level and time`() async throws {
        try await UploadScene.play { scene in
            try await Self.fill(scene)
            func histogram(_ query: String) async throws -> JSONObject {
                try await scene.client.json("/api/v1/logs/histogram?\(query)", bearer: scene.person)
            }
            let found = try await histogram("from=\(Self.time(101))&to=\(Self.time(301))&step=50s&exact=true")
            #expect(found.text("from") == Self.time(101) && found.number("stepSeconds") == 50)
            #expect(
                Self.counts(found, "error") == [5, 5, 5, 5] && Self.counts(found, "information") == [45, 45, 45, 45])
            #expect(Self.counts(found, "verbose") == [0, 0, 0, 0] && found.flag("exact") == true)
            #expect(found.object("total")?.number("information") == 180 && found.text("countedFrom") == nil)
            #expect((found.number("scannedBytes") ?? 0) > 0)
            let wide = try await histogram("from=\(Self.time(101))&to=\(Self.time(301))&step=100s")
            #expect(
                Self.counts(wide, "error") == [10, 10] && wide.flag("exact") == true && wide.number("scannedBytes") == 0
            )
            let narrow = try await histogram("from=\(Self.time(101))&to=\(Self.time(301))&step=50s")
            #expect(narrow.flag("exact") == false && narrow.object("total")?.number("information") == 180)
            for (query, errors) in [
                ("application=com.example.b", 10), ("type=crash", 10), ("text=1.100", 1), ("level=error", 20),
                ("ids=99", 0),
                ("device=\(scene.device.deviceID)", 20), ("device=\(DeviceID.random())", 0),
            ] {
                #expect(try await histogram(query).object("total")?.number("error") == errors, "\(query)")
            }
            // All of it by itself: a step that makes about a hundred whole buckets.
            let all = try await histogram("")
            #expect(all.number("stepSeconds") == 2 && Self.counts(all, "error").count == 101)
            #expect(all.object("total")?.number("information") == 180)
            let cases = [
                "step=x", "step=0", "exact=yes", "what=1", "from=\(Self.time(0))&to=\(Self.time(2001))&step=1",
            ]
            for query in cases {
                try await scene.client.send(.get, "/api/v1/logs/histogram?\(query)", bearer: scene.person).expect(
                    400, "invalid-parameter")
            }
        }
    }

    @Test func `Without logs, there is a day of nothing`() async throws {
        try await UploadScene.play { scene in
            let found = try await scene.client.json("/api/v1/logs/histogram", bearer: scene.person)
            #expect(found.number("stepSeconds") == 900 && Self.counts(found, "error").allSatisfy { $0 == 0 })
            #expect(Self.counts(found, "error").count == 97 && found.flag("exact") == true)
        }
    }

    /// The borders that were asked for stay; others are those of whole buckets around the lines.
    @Test(
        arguments: [
            (nil, nil, 100...299, 50, LogBuckets(from: 100, to: 300, step: 50)),
            (nil, nil, 101...300, 50, LogBuckets(from: 100, to: 350, step: 50)),
            (120, nil, 101...300, 50, LogBuckets(from: 120, to: 320, step: 50)),
            (nil, 290, 101...300, 50, LogBuckets(from: 100, to: 290, step: 50)),
            (nil, 50, 101...300, 50, LogBuckets(from: 0, to: 50, step: 50)),
            (400, nil, 101...300, 50, LogBuckets(from: 400, to: 450, step: 50)),
            (-70, 10, 101...300, 50, LogBuckets(from: -70, to: 10, step: 50)),
            (0, 86_400_000_000, 5...6, nil, LogBuckets(from: 0, to: 86_400_000_000, step: 900_000_000)),
        ] as [(Int64?, Int64?, ClosedRange<Int64>, Int64?, LogBuckets)])
    func `Buckets are chosen`(
        _ since: Int64?, _ until: Int64?, _ times: ClosedRange<Int64>, _ step: Int64?, _ expected: LogBuckets
    ) throws {
        let filter = LogFilter(since: since, until: until)
        #expect(try LogBuckets(filter, of: times, step: step, now: 0) == expected)
    }

    @Test func `Facets show what could be chosen`() async throws {
        try await UploadScene.play { scene in
            try await Self.fill(scene)
            func facets(_ query: String) async throws -> JSONObject {
                try await scene.client.json("/api/v1/logs/facets?\(query)", bearer: scene.person)
            }
            let all = try await facets("")
            #expect(all.number("chunks") == 2 && all.number("lines") == 200 && (all.number("bytes") ?? 0) > 5000)
            #expect(all.text("firstTime") == Self.time(101) && all.text("lastTime") == Self.time(300))
            #expect(
                all.objects("applications").compactMap { $0.text("application") } == ["com.example.a", "com.example.b"])
            #expect(all.objects("types").compactMap { $0.text("type") } == ["application", "crash"])
            #expect(all.objects("levels").compactMap { $0.text("level") } == LogLevel.allCases.map(\.name))
            #expect(all.objects("levels").compactMap { $0.number("lines") } == [20, 0, 180, 0])
            let device = try #require(all.objects("devices").first)
            #expect(device.text("device") == "\(scene.device.deviceID)" && device.text("name") == "kiosk")
            #expect(
                device.number("lines") == 200 && all.number("deviceCount") == 1 && all.number("applicationCount") == 2)
            let one = try await facets("application=com.example.a&type=application")
            #expect(one.number("chunks") == 1)
            #expect(
                one.objects("applications").count == 1
                    && one.objects("types").compactMap { $0.text("type") } == ["application"])
            let crash = try await facets("application=com.example.a&type=crash")
            #expect(crash.number("chunks") == 0 && crash.objects("devices").isEmpty)
            #expect(crash.objects("applications").compactMap { $0.text("application") } == ["com.example.b"])
            #expect(crash.objects("types").compactMap { $0.text("type") } == ["application"])
            try await scene.client.send(.get, "/api/v1/logs/facets?limit=1", bearer: scene.person).expect(
                400, "invalid-parameter")
        }
    }

    @Test func `Another organization's logs count for nothing`() async throws {
        try await UploadScene.play { scene in
            try await Self.fill(scene)
            try await scene.harness.metadata.createOrganization("west")
            let stranger = try await scene.harness.person(.administrator, "west")
            let facets = try await scene.client.json("/api/v1/logs/facets", bearer: stranger)
            #expect(facets.number("chunks") == 0 && facets.objects("applications").isEmpty)
            #expect(facets.objects("devices").isEmpty && facets.text("firstTime") == nil)
            let histogram = try await scene.client.json("/api/v1/logs/histogram", bearer: stranger)
            #expect(histogram.object("total")?.number("error") == 0)
        }
    }
}
