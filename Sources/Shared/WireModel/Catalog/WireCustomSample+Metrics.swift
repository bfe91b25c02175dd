extension WireCustomSample {
    /// The measurements that are numbers or truth values, under the names the application gave them.
    package func metricPoints(metric: String? = nil) -> [MetricPoint] {
        measurements.compactMap { measurement in
            guard metric == nil || measurement.name == metric, let number = measurement.value.number else { return nil }
            return MetricPoint(
                definition: MetricDefinition(name: measurement.name, unit: measurement.unit, kind: .gauge, description: ""),
                attributes: measurement.attributes, value: number)
        }
    }
}

extension WireValue {
    /// `nil` for text and dates, which no chart adds up.
    fileprivate var number: Double? {
        switch value {
        case .integer(let value): Double(value)
        case .real(let value): value
        case .boolean(let value): value ? 1 : 0
        case .text, .date, nil: nil
        }
    }
}
