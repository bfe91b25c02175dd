import MetricIntake

/// Metrics of other programs on this machine, which are sampled as a custom module of the source's name.
package struct MetricSourceSettings: Equatable, Sendable {
    /// The absolute path of a program that prints measurements.
    package var exec: String?
    package var arguments: [String] = []
    /// Where StatsD is taken in: `127.0.0.1:8125`, or the path of a Unix datagram socket.
    package var statsd: String?
    /// Whether other machines may write StatsD there.
    package var fromOtherMachines = false
    /// The URL of a program on this machine that shows its metrics as Prometheus text.
    package var prometheus: String?
    /// Seconds that one run or scrape may take, 0.1 to 25.
    package var timeout = 10.0
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
        // Profile, disabledModules and moduleIntervals know custom modules by it.
        guard name.contains(".") else { throw refuse(": the name must have a dot, such as local.\(name)") }
        guard [exec, statsd, prometheus].compactMap(\.self).count == 1 else {
            throw refuse(" must have one of exec, statsd and prometheus: make a source of each")
        }
        guard exec != nil || arguments.isEmpty else { throw refuse(" has arguments and no exec: give the program") }
        guard statsd != nil || !fromOtherMachines else {
            throw refuse(" has fromOtherMachines and no statsd: only StatsD can be taken in from there")
        }
        if let exec, !exec.hasPrefix("/") {
            throw refuse(".exec is '\(exec)': it must be the absolute path of a program")
        }
        guard Self.timeoutAllowed.contains(timeout) else {
            throw refuse(".timeout is \(timeout): it must be 0.1 to 25 seconds")
        }
        guard Self.seriesAllowed.contains(series) else {
            throw refuse(".series is \(series): it must be 1 to 10000")
        }
        do throws(MetricAddressError) { _ = try makeSource() } catch {
            throw refuse(".\(statsd == nil ? "prometheus" : "statsd"): \(error.message)")
        }
    }

    /// - Returns: the source; `nil` if the settings name none, which a check refuses.
    /// - Throws: why the address cannot be used.
    func makeSource() throws(MetricAddressError) -> (kind: String, source: any MetricSource)? {
        let limit = Duration.seconds(timeout)
        if let exec {
            return ("exec", ExecSource(.init(program: exec, arguments: arguments, limit: limit, series: series)))
        }
        if let statsd {
            let address = try StatsDAddress(statsd, fromOtherMachines: fromOtherMachines)
            return ("statsd", StatsDSource(.init(address: address, series: series)))
        }
        guard let prometheus else { return nil }
        return ("prometheus", PrometheusSource(try .init(url: prometheus, limit: limit, series: series)))
    }
}
