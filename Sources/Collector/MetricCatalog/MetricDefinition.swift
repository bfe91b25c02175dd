/// The name of one metric and the meaning of its values.
///
/// Names, units, kinds and attributes are those of OpenTelemetry's conventions where they have one (`system.*`,
/// `process.*`, `hw.*`); others begin with `ws1.`. Tools/generate-wire compares them with Schemas/conventions.
package struct MetricDefinition: Sendable, Hashable {
    package enum Kind: Sendable, Hashable {
        /// A value of the moment that does not add up over attributes.
        case gauge
        /// A value of the moment that adds up (bytes used by state).
        case upDownCounter
        /// The increase since the previous sample. OpenTelemetry's conventions have no such metric.
        case deltaCounter
        /// The total since a start, which ``MetricPoint/startTime(sampledAt:sinceBoot:)`` tells.
        case cumulativeCounter
        /// The observations since the previous point, by size. Only OTLP has histograms and summaries.
        case deltaHistogram
        /// The observations since a start, by size.
        case cumulativeHistogram
        /// The number and the sum of the observations since a start, and quantiles that the sender has computed.
        case summary
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
        case .deltaHistogram: "delta-histogram"
        case .cumulativeHistogram: "cumulative-histogram"
        case .summary: "summary"
        }
    }
}

/// One value of one metric at the time of the sample that gave it.
package struct MetricPoint: Sendable, Hashable {
    package let definition: MetricDefinition
    package let attributes: MetricAttributes
    package let value: Double
    /// Of a cumulative counter: for how long it had been counting at the time of the sample, in microseconds; `nil`:
    /// since the machine started.
    package var countedMicroseconds: UInt64?
}

extension MetricPoint {
    /// When a cumulative counter began at zero, in microseconds since 1970 by the device's clock.
    ///
    /// A counter that began before the sampler looked is said to count since the machine started, so the true time may
    /// be later. It is never earlier.
    ///
    /// The time is as exact as the device's clock, so it differs a little between the samples of one counter. Who sends
    /// points on keeps the first one until the machine, or the counter, has started again.
    ///
    /// - Parameters:
    ///   - time: the sample's wall clock, in microseconds since 1970.
    ///   - sinceBoot: the sample's time since boot, in microseconds.
    /// - Returns: `nil` for other kinds, and where the time cannot be told.
    package func startTime(sampledAt time: Int64, sinceBoot: UInt64) -> Int64? {
        guard definition.kind == .cumulativeCounter else { return nil }
        let counted = countedMicroseconds ?? sinceBoot
        guard counted > 0, let counted = Int64(exactly: counted) else { return nil }
        let (start, overflow) = time.subtractingReportingOverflow(counted)
        return overflow ? nil : start
    }
}

/// How one numeric field of a sample message becomes points of a metric.
package struct CatalogEntry<Message: Sendable>: Sendable {
    /// The field's path in telemetry.proto, from the sample message, list elements without an index:
    /// `block_devices.reads`.
    package let field: String
    package let metric: MetricDefinition
    /// Reads the field wherever it is present; calls back with the value and the attributes of each place, and with
    /// the time for which a cumulative counter has been counting.
    let read: @Sendable (Message, (Double, MetricAttributes, UInt64?) -> Void) -> Void

    init(
        field: String, metric: MetricDefinition,
        read: @escaping @Sendable (Message, (Double, MetricAttributes, UInt64?) -> Void) -> Void
    ) {
        self.field = field
        self.metric = metric
        self.read = read
    }

    /// The points a message gives for this field: none where it is absent.
    package func points(of message: Message) -> [MetricPoint] {
        var points: [MetricPoint] = []
        read(message) { value, attributes, counted in
            points.append(
                MetricPoint(
                    definition: metric, attributes: attributes, value: value, countedMicroseconds: counted))
        }
        return points
    }
}
