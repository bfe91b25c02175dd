import HTTPTransport
import Logging
import RecordQueue
import SampleModules
import Transmitter
import WireModel

/// What a data sampler takes from the outside; tests inject their own.
struct SamplerEnvironment: Sendable {
    /// A way to the collector and how it ends.
    struct Connection: Sendable {
        var transport: any Transport
        var shutdown: @Sendable () async -> Void
    }

    var clock: any RecordClock = SystemRecordClock()
    /// What waits are measured with.
    var sleeper: any Clock<Duration> = ContinuousClock()
    var host: any HostSource = LinuxHostSource()
    /// What transmissions and beacons are decided by.
    var conditions: @Sendable (any HostSource, Logger) -> any ConditionsSource = { host, logger in
        LinuxConditions(host: host, bus: SystemBusFacts(logger: logger), logger: logger)
    }
    /// For jitter: 0 up to 1.
    var roll: @Sendable () -> Double = { Double.random(in: 0..<1) }
    /// What looks for signs of compromise.
    var detectors: @Sendable (DataSamplerConfiguration, any HostSource) -> [any CompromiseDetector] = { $0.allDetectors(host: $1) }
    /// What the sampler's own figures are told to.
    var metrics: @Sendable () -> SelfMetrics = { SelfMetrics() }
    var machineHash: String? = MachineHash.ofThisMachine()
    var slot = ProcessSlot.shared
    /// How long a start waits for the queue directory's lock.
    var lockWait: Duration = .seconds(5)
    /// How long a stop sends what is left.
    var drainTime: Duration = .seconds(5)
    var connect: @Sendable (HTTPTransportConfiguration) throws(HTTPTransportError) -> Connection = {
        configuration throws(HTTPTransportError) in
        let transport = try HTTPTransport(configuration: configuration)
        return Connection(transport: transport) { await transport.shutdown() }
    }
}
