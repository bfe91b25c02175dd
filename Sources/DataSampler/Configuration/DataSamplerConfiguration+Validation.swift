import HTTPTransport
import SampleModules

extension DataSamplerConfiguration {
    /// Checks every value against its range, without touching the disk or the network.
    ///
    /// - Throws: `invalidConfiguration` naming the first value outside its range, the value and the range.
    public func validate() throws(DataSamplerError) {
        try Self.check("defaultSampleInterval", defaultSampleInterval, .interval)
        try Self.check("defaultTransmitInterval", defaultTransmitInterval, .interval)
        try Self.check("eventHold", eventHold, .eventHold)
        try Self.check("lossWindow", lossWindow, .lossWindow)
        if let beaconInterval { try Self.check("beaconInterval", beaconInterval, .beacon) }
        _ = try sampleModules.moduleNames
        for (name, intervals) in moduleIntervals.sorted(by: { $0.key < $1.key }) {
            _ = try DataSamplerModules(names: [name])
            if let interval = intervals.sampleInterval { try Self.check("moduleIntervals.\(name).sampleInterval", interval, .interval) }
            if let interval = intervals.transmitInterval { try Self.check("moduleIntervals.\(name).transmitInterval", interval, .interval) }
        }
        guard !directory.isEmpty else {
            throw DataSamplerError(.invalidConfiguration, "directory is empty: name where the queue shall lie")
        }
        _ = try transportConfiguration
    }

    private static func check(_ name: String, _ value: Double, _ range: SecondsRange) throws(DataSamplerError) {
        guard range.contains(value) else {
            throw DataSamplerError(.invalidConfiguration, "\(name) is \(value): it must be \(range)")
        }
    }

    var transportConfiguration: HTTPTransportConfiguration {
        get throws(DataSamplerError) {
            do {
                return HTTPTransportConfiguration(
                    collector: try EndpointURL(collector: collectorURL), certificateAuthorityFile: certificateAuthorityFile,
                    proxy: try proxyURL.map { url throws(HTTPTransportError) in try EndpointURL(proxy: url) })
            } catch {
                throw DataSamplerError(.invalidConfiguration, error.message, cause: error)
            }
        }
    }

    /// The shortest interval anything asks to be sent at.
    var transmitInterval: Duration {
        .seconds(moduleIntervals.values.compactMap(\.transmitInterval).reduce(defaultTransmitInterval, min))
    }
}
