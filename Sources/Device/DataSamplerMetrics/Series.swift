import DataSampler

/// What is kept of one label and its dimensions. Safe from any thread.
protocol Series: AnyObject, Sendable {
    /// The most measurements it gives at a time.
    var weight: Int { get }

    /// What is to be told, and begins the next interval.
    func takeMeasurements(_ key: SeriesKey) -> [SampleMeasurement]
}

extension SeriesKey {
    func measurement(_ value: EventValue, suffix: String = "", unit: String? = nil) -> SampleMeasurement {
        SampleMeasurement(name: name + suffix, unit: unit ?? self.unit, attributes: attributes, value: value)
    }
}
