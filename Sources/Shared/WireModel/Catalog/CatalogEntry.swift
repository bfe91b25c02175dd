/// How one numeric field of a sample message becomes points of a metric.
package struct CatalogEntry<Message: Sendable>: Sendable {
    /// The field's path in telemetry.proto, from the sample message, list elements without an index: `block_devices.reads`.
    package let field: String
    package let metric: MetricDefinition
    /// Reads the field wherever it is present; calls back with the attributes of each place.
    let read: @Sendable (Message, (Double, [String: String]) -> Void) -> Void

    init(field: String, metric: MetricDefinition, read: @escaping @Sendable (Message, (Double, [String: String]) -> Void) -> Void) {
        self.field = field
        self.metric = metric
        self.read = read
    }

    /// A field that is one number of the whole sample.
    init(
        _ field: String, _ name: String, _ unit: String, _ kind: MetricDefinition.Kind, _ description: String,
        _ attributes: [String: String] = [:], value: @escaping @Sendable (Message) -> Double?
    ) {
        self.init(field: field, metric: MetricDefinition(name: name, unit: unit, kind: kind, description: description)) { message, emit in
            if let value = value(message) { emit(value, attributes) }
        }
    }

    /// The points a message gives for this field: none where it is absent.
    package func points(of message: Message) -> [MetricPoint] {
        var points: [MetricPoint] = []
        read(message) { value, attributes in
            points.append(MetricPoint(definition: metric, attributes: attributes, value: value))
        }
        return points
    }
}
