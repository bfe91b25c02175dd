import CollectorStore
import WireModel

/// A device's newest value of a metric.
struct LatestValueView: Encodable {
    struct Value: Encodable {
        var attributes: [String: String]
        var value: Double
    }

    var device: String
    /// The device's wall clock.
    var time: String
    var receivedAt: String
    var module: String
    var unit: String
    var kind: String
    /// One per attribute set.
    var values: [Value]

    init(_ latest: LatestValue) {
        device = latest.record.device.description
        time = Timestamp.text(latest.record.header.wallTime)
        receivedAt = Timestamp.text(latest.record.receivedAt)
        module = latest.record.header.module
        unit = latest.points.first?.definition.unit ?? ""
        kind = latest.points.first?.definition.kind.name ?? ""
        values = latest.points.map { Value(attributes: $0.attributes, value: $0.value) }
    }
}
