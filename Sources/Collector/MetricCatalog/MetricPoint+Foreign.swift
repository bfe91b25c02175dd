extension MetricPoint {
    /// A point of a metric that no sample of ours has: its sender says what it is.
    package init(
        metric name: String, unit: String, kind: MetricDefinition.Kind, description: String,
        attributes: MetricAttributes, value: Double
    ) {
        self.init(
            definition: MetricDefinition(name: name, unit: unit, kind: kind, description: description),
            attributes: attributes, value: value)
    }
}
