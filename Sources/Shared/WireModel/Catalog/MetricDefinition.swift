/// What one metric is called and what its values mean.
///
/// Names, units and attributes are those of the OpenTelemetry system, process and hardware conventions where they have
/// one (`system.*`, `process.*`, `hw.*`, and the names its host metrics receiver made common for load); others begin with `ws1.`.
package struct MetricDefinition: Sendable, Hashable {
    package enum Kind: Sendable, Hashable {
        /// A value of the moment that does not add up over attributes.
        case gauge
        /// A value of the moment that adds up (bytes used by state).
        case upDownCounter
        /// The increase since the sample before.
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
