import CollectorAPI
import Testing

@testable import Collector

@Suite("Distributions")
struct DistributionTests {
    @Test func `Percentiles are values that exist`() throws {
        let distribution = try #require(DistributionView.Entry((1...200).map(Double.init).shuffled()))
        #expect(distribution.count == 200 && distribution.min == 1 && distribution.max == 200)
        #expect(distribution.p5 == 10 && distribution.p25 == 50 && distribution.p75 == 150 && distribution.p95 == 190)
        #expect(distribution.p50 == 100 && distribution.p90 == 180 && distribution.p99 == 198)
        #expect(abs(distribution.mean - 100.5) < 1e-9)
        #expect(
            distribution.histogram.count == DistributionView.Entry.bars
                && distribution.histogram.reduce(0) { $0 + $1.count } == 200)
        #expect(distribution.histogram.first?.from == 1 && distribution.histogram.last?.to == 200)
    }

    @Test func `One value is one bar`() throws {
        let distribution = try #require(DistributionView.Entry([7]))
        #expect(
            distribution.p50 == 7 && distribution.p99 == 7
                && distribution.histogram == [.init(from: 7, to: 7, count: 1)])
        #expect(try #require(DistributionView.Entry([3, 3, 3])).histogram == [.init(from: 3, to: 3, count: 3)])
    }

    @Test func `Extremes are counted once each`() throws {
        let distribution = try #require(
            DistributionView.Entry([-.greatestFiniteMagnitude, 0, .greatestFiniteMagnitude]))
        #expect(distribution.histogram.reduce(0) { $0 + $1.count } == 3)
        #expect(distribution.mean.isFinite)
    }

    @Test func `No values make no distribution`() {
        #expect(DistributionView.Entry([]) == nil)
        #expect(DistributionView.Entry([1, .nan]) == nil)
    }
}
