import Foundation
import OTLP
import Testing

@Suite struct OTLPMetricsRulesTests {
    private func checked(_ metrics: [OTLPMetric]) -> (kept: [OTLPMetric], tally: OTLPTally) {
        var request = Sample.metrics(metrics)
        let tally = request.removeForbidden()
        return (request.resourceMetrics[0].scopeMetrics[0].metrics, tally)
    }

    private func number(_ change: (inout OTLPNumberPoint) -> Void) -> OTLPNumberPoint {
        var point = Sample.point
        change(&point)
        return point
    }

    private func histogram(_ change: (inout OTLPHistogramPoint) -> Void) -> OTLPRule? {
        var point = Sample.histogramPoint
        change(&point)
        return point.brokenRule
    }

    private func exponential(_ change: (inout OTLPExponentialPoint) -> Void) -> OTLPRule? {
        var point = Sample.exponentialPoint
        change(&point)
        return point.brokenRule
    }

    private func summary(_ change: (inout OTLPSummaryPoint) -> Void) -> OTLPRule? {
        var point = Sample.summaryPoint
        change(&point)
        return point.brokenRule
    }

    @Test func `Good points of all kinds stay as they are, and nothing is said`() {
        var request = Sample.metrics
        let tally = request.removeForbidden()
        #expect(request == Sample.metrics)
        #expect(tally.items == 5)
        #expect(tally.message(.metrics) == "")
    }

    @Test func `A point without a time is rejected, and its neighbours stay`() {
        let (kept, tally) = checked([Sample.gauge([Sample.point, number { $0.timeUnixNano = 0 }, Sample.point])])
        #expect(kept == [Sample.gauge([Sample.point, Sample.point])])
        #expect(tally.items == 3)
        #expect(tally.rejected == 1)
        #expect(tally.count(of: .timeMissing) == 1)
        #expect(
            tally.message(.metrics).hasPrefix(
                "1 of 3 data points were rejected and must not be sent again. 1: time_unix_nano is 0;"))
        #expect(tally.message(.metrics).contains("resource_metrics[0].scope_metrics[0].metrics[0].data_points[1]"))
    }

    @Test(arguments: [OTLPTemporality.unspecified, .UNRECOGNIZED(3), .delta, .cumulative])
    func `Temporality is delta or cumulative where there is one`(temporality: OTLPTemporality) {
        let isGood = temporality == .delta || temporality == .cumulative
        for metric in [
            Sample.sum([Sample.point, Sample.point], temporality),
            Sample.histogram([Sample.histogramPoint, Sample.histogramPoint], temporality),
            Sample.exponential([Sample.exponentialPoint, Sample.exponentialPoint], temporality),
        ] {
            let (kept, tally) = checked([metric])
            #expect(kept[0].pointCount == (isGood ? 2 : 0))
            #expect(tally.count(of: .temporalityMissing) == (isGood ? 0 : 2))
        }
    }

    @Test func `A number point has a value or says that it has none`() {
        #expect(number { $0.value = nil }.brokenRule == .valueMissing)
        #expect(
            number {
                $0.value = nil
                $0.flags = 1
            }.brokenRule == nil)
        #expect(number { $0.asDouble = .nan }.brokenRule == nil)
    }

    @Test func `A histogram has one count more than bounds, or neither`() {
        #expect(histogram { $0.bucketCounts = [6] } == .bucketCounts)
        #expect(histogram { $0.explicitBounds = [] } == .bucketCounts)
        #expect(histogram { $0.bucketCounts = [] } == .bucketCounts)
        #expect(
            histogram {
                $0.bucketCounts = []
                $0.explicitBounds = []
            } == nil)
        #expect(
            histogram {
                $0.bucketCounts = [6]
                $0.explicitBounds = []
            } == nil)
    }

    @Test(arguments: [[1.0, 1.0], [2, 1], [.nan, 1], [1, .nan]]) func `Bounds increase`(bounds: [Double]) {
        #expect(histogram { $0.explicitBounds = bounds } == .boundsNotIncreasing)
    }

    @Test func `A single bound is a number`() {
        #expect(
            histogram {
                $0.explicitBounds = [.nan]
                $0.bucketCounts = [1, 5]
            } == .boundsNotIncreasing)
    }

    @Test func `The count is the sum of all buckets, and no sum wraps around`() {
        #expect(histogram { $0.count = 7 } == .countMismatch)
        #expect(histogram { $0.bucketCounts = [.max, 4, 3] } == .countMismatch)
        #expect(exponential { $0.count = 9 } == .countMismatch)
        #expect(exponential { $0.zeroCount = 0 } == .countMismatch)
        #expect(exponential { $0.negative.bucketCounts = [.max, 6] } == .countMismatch)
        #expect(exponential { $0.zeroCount = .max - 8 } == .countMismatch)
        #expect(exponential { $0.positive = .init() } == .countMismatch)
    }

    @Test func `A histogram of nothing has no sum`() {
        let nothing: (inout OTLPHistogramPoint) -> Void = {
            $0.count = 0
            $0.bucketCounts = [0, 0, 0]
        }
        #expect(histogram(nothing) == .sumWithoutCount)
        #expect(
            histogram {
                nothing(&$0)
                $0.sum = 0
            } == nil)
        #expect(
            histogram {
                nothing(&$0)
                $0.clearSum()
            } == nil)
        #expect(
            histogram {
                nothing(&$0)
                $0.flags = 1
            } == nil)
        #expect(summary { $0.count = 0 } == .sumWithoutCount)
    }

    @Test func `Quantiles increase from 0 to 1, and their values may be negative`() {
        #expect(summary { _ in } == nil)
        #expect(summary { $0.quantileValues[2].quantile = 1.5 } == .quantiles)
        #expect(summary { $0.quantileValues[0].quantile = -0.1 } == .quantiles)
        #expect(summary { $0.quantileValues[1].quantile = 0 } == .quantiles)
        #expect(summary { $0.quantileValues[1].quantile = .nan } == .quantiles)
    }

    @Test func `A metric has a name and unique keys in its metadata`() {
        #expect(
            checked([
                Sample.metric {
                    $0.gauge.dataPoints = [Sample.point]
                    $0.name = ""
                }
            ]).tally.rejected == 1)
        let double = Sample.metric {
            $0.gauge.dataPoints = [Sample.point, Sample.point]
            $0.metadata = [Sample.attribute("a"), Sample.attribute("a")]
        }
        #expect(checked([double]).tally.count(of: .duplicateAttribute) == 2)
        #expect(checked([Sample.metric { _ in }]).tally == checked([]).tally)
    }

    @Test func `A key that is there twice rejects the point`() {
        let point = number { $0.attributes = [Sample.attribute("a"), Sample.attribute("a", "y")] }
        #expect(checked([Sample.gauge([point, Sample.point])]).tally.count(of: .duplicateAttribute) == 1)
    }

    @Test func `An exemplar without a value goes away, and the point stays`() {
        var empty = Sample.exemplar
        empty.value = nil
        var wrong = Sample.exemplar
        wrong.traceID = Data([1])
        let point = number { $0.exemplars = [empty, wrong, Sample.exemplar] }
        let (kept, tally) = checked([Sample.sum([point])])
        #expect(tally.rejected == 0)
        #expect(tally.count(of: .exemplarWithoutValue) == 1)
        #expect(tally.count(of: .identifierLength) == 1)
        #expect(kept[0].sum.dataPoints[0].exemplars.map(\.traceID) == [Data(), Sample.trace])
        #expect(kept[0].sum.dataPoints[0].exemplars.map(\.asDouble) == [1.5, 1.5])
    }

    @Test func `A resource or scope with a key twice rejects what it holds`() {
        var request = Sample.metrics
        request.resourceMetrics.append(request.resourceMetrics[0])
        request.resourceMetrics[0].resource.attributes = [Sample.attribute("a"), Sample.attribute("a")]
        request.resourceMetrics[1].scopeMetrics[0].scope.attributes = [Sample.attribute("a"), Sample.attribute("a")]
        let tally = request.removeForbidden()
        #expect(tally.rejected == 10)
        #expect(request.resourceMetrics.allSatisfy { $0.scopeMetrics[0].metrics.allSatisfy { $0.pointCount == 0 } })
    }
}
