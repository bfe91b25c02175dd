import JSON
import TelemetryBasics
import Testing
import WireModel

@testable import Console

@Suite struct TimeRangeTests {
    private static let now: Int64 = 1_767_323_045_000_000
    private static let hour: Int64 = 3_600_000_000

    @Test func `Without a choice, it is a day or as long as there was anything`() throws {
        let day = try TimeRange([], now: Self.now)
        #expect(day.to == Self.now && day.from == Self.now - 24 * Self.hour && day.choice == "24h")
        let young = try TimeRange([], now: Self.now, since: Self.now - 2 * Self.hour)
        #expect(young.choice == "6h" && young.from == Self.now - 6 * Self.hour)
        #expect(try TimeRange([], now: Self.now, since: Self.now - 2000 * Self.hour).choice == "24h")
    }

    @Test func `A choice or times say which range it is`() throws {
        #expect(try TimeRange([("range", "7d")], now: Self.now, since: Self.now).from == Self.now - 168 * Self.hour)
        let given = try TimeRange(
            [("range", "7d"), ("from", "2026-01-01T10:00"), ("to", "2026-01-01T10:00:30")], now: Self.now)
        #expect(given.to - given.from == 30_000_000 && given.choice == nil)
        let dragged = try TimeRange([("from", "2026-01-01T10:00:00.123Z")], now: Self.now)
        #expect(dragged.from == Timestamp.parse("2026-01-01T10:00:00.123Z") && dragged.to == Self.now)
    }

    @Test(arguments: [("from", "yesterday"), ("to", "2026-02-30T10:00"), ("from", "2027-01-01T00:00:00Z")])
    func `What is no range is refused`(name: String, value: String) {
        #expect(throws: Problem.self) { try TimeRange([(name, value)], now: Self.now) }
    }

    @Test(arguments: [(3600, 60), (86_400, 900), (30 * 86_400, 43_200), (1, 1), (1_000_000_000, 10_000_001)])
    func `A step makes a bounded number of buckets`(seconds: Int64, step: Int64) {
        let range = TimeRange(from: Self.now - seconds * 1_000_000, to: Self.now)
        #expect(range.step(buckets: 100) == step)
        let aligned = range.aligned(to: 60)
        #expect(aligned.from % 60_000_000 == 0 && range.from - aligned.from < 60_000_000)
    }

    @Test func `Buckets of times before 1970 are whole, too`() {
        #expect(TimeRange(from: -1, to: 0).aligned(to: 60).from == -60_000_000)
    }
}
