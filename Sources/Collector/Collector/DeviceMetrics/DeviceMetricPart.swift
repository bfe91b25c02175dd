import MetricCatalog
import WireModel

/// One sample of a histogram or a summary in Prometheus' words. Pure.
struct DeviceMetricPart: Sendable, Equatable {
    /// What the sample has behind the name of the metric.
    let suffix: String
    /// The label `le` or `quantile` behind a comma; empty if the sample has none.
    var label = ""
    let value: Double

    /// The samples, in the order of the text format.
    ///
    /// The number is left out where the sender does not give the sum: OpenMetrics wants both or none, and the last
    /// bucket has the number.
    /// - Returns: `nil` for what has no form in these formats: an exponential histogram.
    static func parts(of distribution: MetricDistribution) -> [Self]? {
        var parts: [Self] = []
        switch distribution.buckets {
        case .exponential: return nil
        case .explicit(let bounds, let counts):
            var total: UInt64 = 0
            for (bound, count) in zip(bounds, counts) {
                total.addSaturating(count)
                // The last one is added below.
                if bound.isFinite {
                    parts.append(bucket(PrometheusText.number(bound), total))
                }
            }
            parts.append(bucket("+Inf", distribution.count))
        case .none where distribution.isSummary:
            parts = distribution.quantiles.map { quantile in
                Self(
                    suffix: "", label: ",quantile=\"\(PrometheusText.number(quantile.share))\"", value: quantile.value)
            }
        case .none: parts.append(bucket("+Inf", distribution.count))
        }
        if let sum = distribution.sum {
            parts.append(Self(suffix: "_sum", value: sum))
            parts.append(Self(suffix: "_count", value: Double(distribution.count)))
        }
        return parts
    }

    private static func bucket(_ bound: String, _ count: UInt64) -> Self {
        Self(suffix: "_bucket", label: ",le=\"\(bound)\"", value: Double(count))
    }
}
