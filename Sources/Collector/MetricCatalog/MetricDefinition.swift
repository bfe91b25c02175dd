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

extension MetricDefinition {
    init(_ name: String, _ unit: String, _ kind: Kind, _ description: String) {
        self.init(name: name, unit: unit, kind: kind, description: description)
    }
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
    /// Names and values; empty where the metric has one series per device.
    package let attributes: [String: String]
    package let value: Double
}

/// How one numeric field of a sample message becomes points of a metric.
package struct CatalogEntry<Message: Sendable>: Sendable {
    /// The field's path in telemetry.proto, from the sample message, list elements without an index:
    /// `block_devices.reads`.
    package let field: String
    package let metric: MetricDefinition
    /// Reads the field wherever it is present; calls back with the attributes of each place.
    let read: @Sendable (Message, (Double, [String: String]) -> Void) -> Void

    init(
        field: String, metric: MetricDefinition,
        read: @escaping @Sendable (Message, (Double, [String: String]) -> Void) -> Void
    ) {
        self.field = field
        self.metric = metric
        self.read = read
    }

    /// A field that is one number of the whole sample, or `nil` where it is absent. (A message inside the sample that
    /// is absent has no optional field present, so its `has...` alone says so.)
    init(
        _ field: String, _ metric: MetricDefinition, _ attributes: [String: String] = [:],
        value: @escaping @Sendable (Message) -> Double?
    ) {
        self.init(field: field, metric: metric) { message, emit in
            if let value = value(message) { emit(value, attributes) }
        }
    }

    /// The same, for a metric that only this field gives.
    init(
        _ field: String, _ name: String, _ unit: String, _ kind: MetricDefinition.Kind, _ description: String,
        _ attributes: [String: String] = [:], value: @escaping @Sendable (Message) -> Double?
    ) { self.init(field, MetricDefinition(name, unit, kind, description), attributes, value: value) }

    /// A field of each element of a list, with the attributes that distinguish the elements.
    init<Element>(
        _ field: String, _ metric: MetricDefinition, each elements: @escaping @Sendable (Message) -> [Element],
        attributes: @escaping @Sendable (Element) -> [String: String], value: @escaping @Sendable (Element) -> Double?
    ) {
        self.init(field: field, metric: metric) { message, emit in
            for element in elements(message) {
                if let value = value(element) { emit(value, attributes(element)) }
            }
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
