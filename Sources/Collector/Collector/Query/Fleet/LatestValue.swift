import CollectorStore
import WireModel

/// A device's newest sample that has a metric, and what it says of it.
struct LatestValue: Sendable {
    let record: StoredRecord
    let points: [MetricPoint]
}
