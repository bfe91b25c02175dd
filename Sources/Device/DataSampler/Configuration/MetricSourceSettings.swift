import MetricIntake

/// Metrics of other programs on this machine, which are sampled as a custom module of the source's name.
package struct MetricSourceSettings: Equatable, Sendable {
    /// The absolute path of a program that prints measurements.
    package var exec: String?
    package var arguments: [String] = []
    /// Seconds that one run may take, 0.1 to 25.
    package var timeout = 10.0
    /// Seconds between two samples, 1 to 86,400; `nil`: the default interval. The profile can set another.
    package var interval: Double?
    /// The most series of a sample, 1 to 10,000.
    package var series = 1_000

    package init() {}

    /// The most sources.
    package static let maximumSources = 32
    /// Below the limit of custom modules, so that a source ends by its own.
    package static let timeoutAllowed = 0.1...25.0
    package static let seriesAllowed = 1...10_000

    /// - Parameter name: the source's module.
    func check(_ name: String) throws(DataSamplerError) {
        func refuse(_ message: String) -> DataSamplerError {
            DataSamplerError(.invalidConfiguration, "metricSources.\(name)\(message)")
        }
        if let objection = CustomModuleName.objection(to: name) { throw refuse(": \(objection)") }
        guard let exec else { throw refuse(" has no source: give exec") }
        guard exec.hasPrefix("/") else {
            throw refuse(".exec is '\(exec)': it must be the absolute path of a program")
        }
        guard Self.timeoutAllowed.contains(timeout) else {
            throw refuse(".timeout is \(timeout): it must be 0.1 to 25 seconds")
        }
        if let interval, !SecondsRange.interval.contains(interval) {
            throw refuse(".interval is \(interval): it must be \(SecondsRange.interval)")
        }
        guard Self.seriesAllowed.contains(series) else {
            throw refuse(".series is \(series): it must be 1 to 10000")
        }
    }

    /// - Returns: the source; `nil` if the settings name none, which a check refuses.
    func makeSource() -> (kind: String, source: any MetricSource)? {
        guard let exec else { return nil }
        return (
            "exec",
            ExecSource(.init(program: exec, arguments: arguments, limit: .seconds(timeout), series: series))
        )
    }
}
