/// How one numeric field of a sample message becomes points of a metric.
package struct CatalogEntry<Message: Sendable>: Sendable {
    /// The field's path in telemetry.proto, from the sample message, list elements without an index: `block_devices.reads`.
    package let field: String
    package let metric: MetricDefinition
    /// Reads the field wherever it is present; calls back with the attributes of each place.
    let read: @Sendable (Message, (Double, [String: String]) -> Void) -> Void

    /// The points a message gives for this field: none where it is absent.
    package func points(of message: Message) -> [MetricPoint] {
        var points: [MetricPoint] = []
        read(message) { value, attributes in
            points.append(MetricPoint(definition: metric, attributes: attributes, value: value))
        }
        return points
    }
}
