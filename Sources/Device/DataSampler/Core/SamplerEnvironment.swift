import Crypto
import FoundationEssentials
import HTTPConnection
import HTTPTransport
import Logging
import MQTTClient
import MQTTTransport
import RecordQueue
import SampleModules
import Synchronization
import Transmitter
import WireModel

/// The outside dependencies of a data sampler. Tests inject their own.
struct SamplerEnvironment: Sendable {
    /// A connection to the collector, and how to end it.
    struct Connection: Sendable {
        var transport: any Transport
        /// The collector said that something is new; `nil` if it cannot say so. One task may listen.
        var news: AsyncStream<Void>?
        var shutdown: @Sendable () async -> Void
    }

    var clock: any RecordClock = SystemRecordClock()
    /// The clock for waits.
    var sleeper: any Clock<Duration> = ContinuousClock()
    var host: any HostSource = LinuxHostSource()
    /// The conditions that transmissions and beacons depend on.
    var conditions: @Sendable (any HostSource, Logger) -> any ConditionsSource = { host, logger in
        LinuxConditions(host: host, bus: SystemBusFacts(logger: logger), logger: logger)
    }
    /// The address of the message bus where logind is.
    var systemBus = BusConnection.systemAddress
    /// Random numbers for jitter, 0 up to 1.
    var roll: @Sendable () -> Double = { Double.random(in: 0..<1) }
    var detectors: @Sendable (DataSamplerConfiguration, DetectionRules, any HostSource) -> [any CompromiseDetector] = {
        $0.allDetectors($1, host: $2)
    }
    var metrics: @Sendable () -> SelfMetrics = { SelfMetrics() }
    var machineHash: String? = MachineHash.ofThisMachine()
    var slot = ProcessSlot.shared
    /// Changes within it share one beacon.
    var beaconChangeDelay: Duration = .seconds(1)
    /// How long a start waits for the queue directory's lock.
    var lockWait: Duration = .seconds(5)
    /// How long a stop continues to send.
    var drainTime: Duration = .seconds(5)
    var connect: @Sendable (Destination) throws(DataSamplerError) -> Connection = {
        destination throws(DataSamplerError) in
        switch destination.route {
        case .http(let settings):
            do throws(ConnectionSettingsError) {
                let transport = try HTTPTransport(settings)
                return Connection(transport: transport) { await transport.shutdown() }
            } catch { throw CollectorRoute.refusal(error) }
        case .broker(let settings):
            do throws(MQTTError) {
                let transport = try MQTTTransport(settings, device: destination.device)
                return Connection(transport: transport, news: transport.news) { await transport.shutdown() }
            } catch { throw CollectorRoute.refusal(error) }
        }
    }

    /// What a connection is made to.
    struct Destination: Sendable {
        var route: CollectorRoute
        /// The device id, once the device is enrolled.
        var device: @Sendable () -> String?
    }
}

/// The place of the one data sampler that may run in a process (ws1). Tests give each instance its own slot.
final class ProcessSlot: Sendable {
    static let shared = ProcessSlot()

    private let taken = Mutex(false)

    /// Acquires the slot, and returns whether it was free.
    func acquire() -> Bool {
        taken.withLock { taken in
            defer { taken = true }
            return !taken
        }
    }

    func release() { taken.withLock { $0 = false } }
}

/// A keyed hash of the machine id. It distinguishes a cloned disk from a restored one without revealing the id, which
/// identifies the machine to every program that reads it (machine-id(5) recommends this).
enum MachineHash {
    static let path = "/etc/machine-id"
    private static let key = SymmetricKey(data: Data("ws1-telemetry machine id 1".utf8))

    /// The hash in hexadecimal; `nil` for an empty or missing id.
    static func hash(ofMachineID machineID: String?) -> String? {
        guard let machineID, let first = machineID.split(whereSeparator: \.isWhitespace).first, first != "uninitialized"
        else { return nil }
        return Data(HMAC<SHA256>.authenticationCode(for: Data(first.utf8), using: key)).hexadecimal
    }

    static func ofThisMachine() -> String? {
        let bytes = try? Data(contentsOf: URL(filePath: path))
        return hash(ofMachineID: bytes.map { String(decoding: $0.prefix(256), as: UTF8.self) })
    }
}
