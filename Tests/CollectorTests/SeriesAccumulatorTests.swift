import Testing
import WireModel

@testable import Collector
@testable import MetricCatalog

@Suite("Series: values into buckets")
struct SeriesAccumulatorTests {
    private static let second: Int64 = 1_000_000
    private static let boot = BootID(high: 1, low: 1)
    private static let window = SeriesWindow(from: 0, to: 60 * second, step: 10 * second)

    private struct Point {
        var at: Int64
        var value: Double
        var boot: BootID = SeriesAccumulatorTests.boot
        /// Seconds; the wall clock's where it is not said.
        var sinceBoot: Int64?
        var interval: UInt64?
        var attributes: MetricAttributes = [:]
    }

    /// The series of samples as the store gives them: newest first.
    private func series(
        _ kind: MetricDefinition.Kind, _ points: [Point], filter: [String: String] = [:]
    ) throws -> [SeriesAccumulator.Series] {
        var accumulator = SeriesAccumulator(window: Self.window, attributes: AttributeFilter(filter))
        let definition = MetricDefinition(name: "m", unit: "1", kind: kind, description: "")
        for point in points.reversed() {
            try accumulator.add(
                MetricPoint(definition: definition, attributes: point.attributes, value: point.value),
                at: SampleMoment(
                    time: point.at * Self.second, bootID: point.boot,
                    timeSinceBoot: UInt64((point.sinceBoot ?? point.at + 1000) * Self.second),
                    interval: point.interval.map { $0 * UInt64(Self.second) }))
        }
        return Array(accumulator.series.values)
    }

    private func values(_ series: SeriesAccumulator.Series?, _ aggregate: SeriesAggregate) -> [Double?] {
        (0..<Self.window.buckets).map { (series?.buckets[$0] ?? SeriesBucket()).value(aggregate) }
    }

    @Test func `A bucket says what was in it, and nothing where nothing was`() throws {
        let found = try series(
            .gauge,
            [
                .init(at: 0, value: 1), .init(at: 4, value: 5), .init(at: 9, value: 3), .init(at: 59, value: 7),
                .init(at: 60, value: 9),
            ]
        ).first
        #expect(values(found, .mean) == [3, nil, nil, nil, nil, 7])
        #expect(values(found, .min) == [1, nil, nil, nil, nil, 7])
        #expect(values(found, .max) == [5, nil, nil, nil, nil, 7])
        #expect(values(found, .last) == [3, nil, nil, nil, nil, 7])
        #expect(values(found, .count) == [3, 0, 0, 0, 0, 1])
        #expect(values(found, .rate) == [nil, nil, nil, nil, nil, nil], "a gauge does not grow")
    }

    /// A device may send any interval.
    @Test func `Impossible intervals are added up to the greatest time`() throws {
        var bucket = SeriesBucket()
        for _ in 0..<3 { bucket.grow(1, microseconds: 1 << 63) }
        let rate = try #require(bucket.value(.rate))
        #expect(rate > 0 && rate < 1e-10)
        #expect(bucket.value(.increase) == 3)
    }

    @Test func `The last value is that of the latest time, whatever the order`() throws {
        let found = try series(.gauge, [.init(at: 9, value: 3), .init(at: 2, value: 1), .init(at: 5, value: 2)]).first
        #expect(values(found, .last)[0] == 3)
    }

    @Test func `A total grows between samples of one boot by the machine's own time`() throws {
        // The sample before the window counts as what the first one grew from.
        let found = try series(
            .cumulativeCounter,
            [.init(at: -5, value: 100), .init(at: 5, value: 150), .init(at: 15, value: 150), .init(at: 25, value: 250)]
        ).first
        #expect(values(found, .increase) == [50, 0, 100, nil, nil, nil])
        #expect(values(found, .rate) == [5, 0, 10, nil, nil, nil])
        #expect(values(found, .last) == [150, 150, 250, nil, nil, nil])
    }

    @Test func `A reboot gives no growth`() throws {
        let other = BootID(high: 2, low: 2)
        let found = try series(
            .cumulativeCounter,
            [
                .init(at: 5, value: 900), .init(at: 15, value: 1000),
                .init(at: 25, value: 2000, boot: other, sinceBoot: 3),
                .init(at: 35, value: 2010, boot: other, sinceBoot: 13),
            ]
        ).first
        #expect(values(found, .increase) == [nil, 100, nil, 10, nil, nil])
        #expect(values(found, .rate) == [nil, 10, nil, 1, nil, nil])
    }

    @Test func `A reset within a boot gives no growth`() throws {
        let found = try series(
            .cumulativeCounter, [.init(at: 5, value: 900), .init(at: 15, value: 10), .init(at: 25, value: 30)]
        ).first
        #expect(values(found, .increase) == [nil, nil, 20, nil, nil, nil])
    }

    @Test func `A wall clock that is set does not change a rate`() throws {
        // 10 s lie between the two by the time since boot; by the wall clock 40.
        let found = try series(
            .cumulativeCounter, [.init(at: 5, value: 0, sinceBoot: 100), .init(at: 45, value: 100, sinceBoot: 110)]
        ).first
        #expect(values(found, .rate) == [nil, nil, nil, nil, 10, nil])
    }

    @Test func `An increase is over the time its sample says`() throws {
        let found = try series(
            .deltaCounter,
            [
                .init(at: 5, value: 50, interval: 5), .init(at: 8, value: 10, interval: 3),
                .init(at: 25, value: 4, interval: 2),
            ]
        ).first
        #expect(values(found, .increase) == [60, nil, 4, nil, nil, nil])
        #expect(values(found, .rate) == [7.5, nil, 2, nil, nil, nil])
    }

    @Test func `An increase without an interval is over the time since the sample before`() throws {
        let found = try series(
            .deltaCounter, [.init(at: -5, value: 7), .init(at: 5, value: 20), .init(at: 15, value: 30)]
        ).first
        #expect(values(found, .rate) == [2, 3, nil, nil, nil, nil])
    }

    @Test func `A series is its attributes, and a filter keeps those that have them`() throws {
        let points: [Point] = [
            .init(at: 1, value: 1, attributes: ["state": "free"]),
            .init(at: 1, value: 2, attributes: ["state": "used"]),
            .init(at: 2, value: 3, attributes: ["state": "free", "node": 0]),
        ]
        #expect(try series(.gauge, points).count == 3)
        #expect(try series(.gauge, points, filter: ["state": "free"]).count == 2)
        #expect(try series(.gauge, points, filter: ["state": "none"]).isEmpty)
        #expect(try series(.gauge, points, filter: ["node": "0"]).count == 1)
        #expect(try series(.gauge, points, filter: ["node": ""]).count == 2)
        #expect(try series(.gauge, points, filter: ["state": "free", "node": ""]).count == 1)
        #expect(try series(.gauge, points, filter: ["state": ""]).isEmpty)
    }

    @Test func `What lies only before the window is no series, and what is not a number is no value`() throws {
        #expect(try series(.gauge, [.init(at: -1, value: 1)]).isEmpty)
        #expect(try series(.gauge, [.init(at: 1, value: .nan), .init(at: 2, value: .infinity)]).isEmpty)
    }

    @Test func `More series than an answer holds are refused`() throws {
        let points = (0...SeriesAccumulator.maximumSeries).map {
            Point(at: 1, value: 1, attributes: ["n": .integer(Int64($0))])
        }
        #expect(throws: SeriesAccumulator.Overflow.series(limit: SeriesAccumulator.maximumSeries)) {
            try series(.gauge, points)
        }
    }

    @Test(arguments: [(1, 0), (10, 0), (11, 1), (60, 5)])
    func `Buckets begin at the window's start`(second: Int64, bucket: Int) {
        let window = SeriesWindow(from: 1_000_000, to: 61_000_000, step: 10_000_000)
        #expect(window.buckets == 6)
        #expect(window.bucket(of: second * 1_000_000) == bucket)
        #expect(window.bucket(of: 999_999) == nil && window.bucket(of: 61_000_000) == nil)
    }
}
