import WireModel

/// One value of one metric that a sample gives, under the catalog's name.
struct MetricView: Encodable {
    var name: String
    /// UCUM.
    var unit: String
    /// Empty where the metric has one series per device.
    var attributes: [String: String]
    var value: JSONValue

    init(_ point: MetricPoint) {
        name = point.definition.name
        unit = point.definition.unit
        attributes = point.attributes
        value = .real(point.value)
    }
}
