import Foundation
import TestKit
import Testing

@testable import Collector

@Suite("Histograms: what is known of a quantile")
struct MetricDistributionTests {
    /// A histogram of observations with explicit bounds.
    private static func explicit(_ values: [Double], _ bounds: [Double], withEdges: Bool) -> MetricDistribution {
        var counts = Array(repeating: UInt64(0), count: bounds.count + 1)
        for value in values { counts[bounds.firstIndex { value <= $0 } ?? bounds.count] += 1 }
        return distribution(values, .explicit(bounds: bounds, counts: counts), withEdges: withEdges)
    }

    private static func exponential(_ values: [Double], scale: Int32) -> MetricDistribution {
        var buckets = MetricDistribution.Exponential(
            scale: scale, zeroThreshold: 0, zero: 0, positive: [:], negative: [:])
        for value in values {
            guard value != 0 else {
                buckets.zero += 1
                continue
            }
            let index = Int(ceil(log2(abs(value)) * exp2(Double(scale)))) - 1
            if value > 0 { buckets.positive[index, default: 0] += 1 } else { buckets.negative[index, default: 0] += 1 }
        }
        return distribution(values, .exponential(buckets), withEdges: false)
    }

    private static func distribution(
        _ values: [Double], _ buckets: MetricDistribution.Buckets, withEdges: Bool
    ) -> MetricDistribution {
        MetricDistribution(
            count: UInt64(values.count), sum: values.allSatisfy { $0 >= 0 } ? values.reduce(0, +) : nil,
            minimum: withEdges ? values.min() : nil, maximum: withEdges ? values.max() : nil, buckets: buckets)
    }

    @Test(arguments: 0..<200)
    func `The true quantile lies within the bounds, whatever histograms are added`(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var observed = ObservedValues()
        var all: [Double] = []
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let least: Double = Bool.random(using: &random) ? -50 : 0
            let values = (0..<Int.random(in: 1...40, using: &random)).map { _ in
                Bool.random(using: &random)
                    ? Double.random(in: least...100, using: &random) : Double(Int.random(in: 0...5, using: &random))
            }
            all += values
            switch Int.random(in: 0...2, using: &random) {
            case 0:
                let bounds = Set((0...6).map { _ in Double(Int.random(in: -20...90, using: &random)) }).sorted()
                observed.add(
                    Self.explicit(values, bounds, withEdges: Bool.random(using: &random)), isWhole: true)
            case 1:
                observed.add(
                    Self.exponential(values, scale: Int32.random(in: -2...4, using: &random)), isWhole: true)
            default: observed.add(Self.distribution(values, .none, withEdges: true), isWhole: true)
            }
        }
        all.sort()
        for percent in [50, 90, 95, 99] {
            let exact = all[max(0, (all.count * percent + 99) / 100 - 1)]
            let bounds = try #require(observed.bounds(ofPercent: percent))
            // Edges of exponential buckets are rounded.
            let margin = abs(exact) * 1e-12
            #expect(bounds.low - margin <= exact && exact <= bounds.high + margin, "\(percent): \(bounds) \(exact)")
            let middle = try #require(observed.quantile(percent: percent))
            if bounds.low.isFinite, bounds.high.isFinite {
                #expect(abs(middle - exact) <= (bounds.high - bounds.low) / 2 + margin)
            } else {
                #expect(!middle.isFinite)
            }
        }
        #expect(observed.count == UInt64(all.count))
    }

    @Test(arguments: 0..<50)
    func `What was observed since an earlier point is the difference, also of a coarser one`(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let first = (0..<20).map { _ in Double.random(in: -1000...1000, using: &random) }
        let more = (0..<20).map { _ in Double.random(in: -1000...1000, using: &random) }
        let scale = Int32.random(in: -3...5, using: &random)
        for coarser in [0, 1, 3] as [Int32] {
            let earlier = Self.exponential(first, scale: scale)
            let later = Self.exponential(first + more, scale: scale - coarser)
            let grown = try #require(later.since(earlier))
            #expect(grown.buckets == Self.exponential(more, scale: scale - coarser).buckets && grown.count == 20)
            #expect(earlier.since(later) == nil)
        }
        let bounds = [-100, 0, 100.0]
        let grown = Self.explicit(first + more, bounds, withEdges: false).since(
            Self.explicit(first, bounds, withEdges: false))
        #expect(grown?.buckets == Self.explicit(more, bounds, withEdges: false).buckets)
    }

    @Test func `Counts that went down are of another series, and other bounds leave the number alone`() throws {
        let earlier = MetricDistribution(count: 5, sum: 9, buckets: .explicit(bounds: [1], counts: [3, 2]))
        let fewer = MetricDistribution(count: 6, sum: 9, buckets: .explicit(bounds: [1], counts: [6, 0]))
        #expect(fewer.since(earlier) == nil)
        let other = MetricDistribution(count: 6, sum: 10, buckets: .explicit(bounds: [2], counts: [6, 0]))
        #expect(other.since(earlier) == MetricDistribution(count: 1, sum: 1))
    }

    /// A sender may send any numbers.
    @Test func `Impossible numbers make no impossible bounds`() throws {
        let greatest = UInt64.max
        for scale in [Int32.min, -1, 0, 20, Int32.max] {
            for index in [Int(Int32.min), -1, 0, 1, Int(Int32.max) + 100] {
                let distribution = MetricDistribution(
                    count: greatest, sum: .nan, minimum: .nan, maximum: -.infinity,
                    buckets: .exponential(
                        .init(scale: scale, zeroThreshold: 0, zero: 0, positive: [index: greatest], negative: [:])))
                var observed = ObservedValues()
                observed.add(distribution, isWhole: true)
                observed.add(distribution, isWhole: true)
                let bounds = try #require(observed.bounds(ofPercent: 99))
                #expect(bounds.low <= bounds.high && bounds.low >= 0, "\(scale) \(index) \(bounds)")
            }
        }
    }
}
