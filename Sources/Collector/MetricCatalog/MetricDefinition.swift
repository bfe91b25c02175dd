/// The name of one metric and the meaning of its values.
///
/// Names, units and attributes are those of the OpenTelemetry system, process and hardware conventions where they have
/// one (`system.*`, `process.*`, `hw.*`, and the names its host metrics receiver made common for load); others begin
/// with `ws1.`.
package struct MetricDefinition: Sendable, Hashable {
    package enum Kind: Sendable, Hashable {
        /// A value of the moment that does not add up over attributes.
        case gauge
        /// A value of the moment that adds up (bytes used by state).
        case upDownCounter
        /// The increase since the previous sample.
        case deltaCounter
        /// The total since boot or since the process started; starts anew at zero with it.
        case cumulativeCounter
    }

    package let name: String
    /// UCUM, as in OpenTelemetry ("By", "s", "1", "Cel", "{operation}").
    package let unit: String
    package let kind: Kind
    package let description: String
}

extension MetricDefinition.Kind {
    /// The API's name.
    package var name: String {
        switch self {
        case .gauge: "gauge"
        case .upDownCounter: "up-down-counter"
        case .deltaCounter: "delta-counter"
        case .cumulativeCounter: "cumulative-counter"
        }
    }
}

/// One value of one metric at the time of the sample that gave it.
package struct MetricPoint: Sendable, Hashable {
    package let definition: MetricDefinition
    package let attributes: MetricAttributes
    package let value: Double
}

/// How one numeric field of a sample message becomes points of a metric.
package struct CatalogEntry<Message: Sendable>: Sendable {
    /// The field's path in telemetry.proto, from the sample message, list elements without an index:
    /// `block_devices.reads`.
    package let field: String
    package let metric: MetricDefinition
    /// Reads the field wherever it is present; calls back with the attributes of each place.
    let read: @Sendable (Message, (Double, MetricAttributes) -> Void) -> Void

    init(
        field: String, metric: MetricDefinition,
        read: @escaping @Sendable (Message, (Double, MetricAttributes) -> Void) -> Void
    ) {
        self.field = field
        self.metric = metric
        self.read = read
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
