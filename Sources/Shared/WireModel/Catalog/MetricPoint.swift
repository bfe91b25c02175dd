/// One value of one metric at the time of the sample that gave it.
package struct MetricPoint: Sendable, Hashable {
    package let definition: MetricDefinition
    /// Names and values; empty where the metric has one series per device.
    package let attributes: [String: String]
    package let value: Double
}
