import FoundationEssentials
import Logging
import WireModel

/// The WLAN2 module: the machine's wireless interfaces and their links.
///
/// It asks nl80211. If the kernel has no such family, `/proc/net/wireless` says less. Each sample asks for the link.
/// Facts that the driver or its firmware must look up are asked for more rarely: the noise every ``surveySeconds``
/// seconds, and the network's own description when the access point changes and every ``scanSeconds`` seconds. It never
/// starts a scan. Retries, failures and lost beacons are deltas within one association. A machine without wireless
/// gives no sample.
package struct WLANModule: SampleModule {
    static let surveySeconds: UInt64 = 10
    static let scanSeconds: UInt64 = 60
    static let maximumInterfaces = 16
    private static let noInterface = "this machine has no wireless interface"

    /// The values that are kept of an interface between two samples.
    private struct Known {
        var access: [UInt8]?
        var station: WLANStationMessage?
        var network: WLANNetworkMessage?
        var scanned: UInt64?
        var noise: Int32?
        var surveyed: UInt64?
    }

    package let name = SampleModuleName.wlan2

    private var reader: FileReader
    private var links = WLANLinks()
    private var known: [UInt32: Known] = [:]
    private var previousFile: [String: WirelessFile.Interface] = [:]

    package init(host: any HostSource, logger: Logger) {
        reader = FileReader(host: host, logger: logger)
    }

    package mutating func sample(at time: SampleTime) -> SampleResult {
        let sample = read(at: time)
        guard sample.interfaces.isEmpty else {
            return .sample(Sample(kind: .sampleWlan, module: name.rawValue, body: sample.encoded))
        }
        let hasRadio = WLANLinks.hasRadio(reader.host)
        return .none(
            reason: hasRadio
                ? "there is a radio, but the kernel tells of no wireless interface on it" : Self.noInterface)
    }

    /// Takes one sample as a message. It has no interfaces if the machine has none.
    mutating func read(at time: SampleTime) -> WireWLANSample {
        var sample = WireWLANSample()
        if let interfaces = links.interfaces(&reader) {
            let now = time.sinceBootMicroseconds
            let current = Set(interfaces.map(\.index))
            known = known.filter { current.contains($0.key) }
            sample.interfaces = interfaces.prefix(Self.maximumInterfaces).map { message(of: $0, now: now) }
        }
        if sample.interfaces.isEmpty { sample.interfaces = interfacesOfFile() }
        return sample
    }

    // MARK: - nl80211

    private mutating func message(of interface: WLANInterfaceMessage, now: UInt64) -> WireWLANInterface {
        var known = self.known[interface.index] ?? Known()
        var message = WireWLANInterface()
        message.name = interface.name
        var frequency = interface.frequency
        var ssid = interface.ssid
        if interface.isStation, let station = links.station(of: interface.index, known.access, &reader) {
            let isSame = known.access == station.address
            if !isSame {
                known = Known()
                known.access = station.address
            }
            if Self.isDue(&known.scanned, every: Self.scanSeconds, now: now) {
                known.network = links.network(of: interface.index, &reader)
            }
            frequency = frequency ?? known.network?.frequency
            ssid = ssid ?? known.network?.ssid
            // On multi-link networks the two differ: the station is the device, and the network one of its radios.
            message.bssid = MACAddress.text(known.network?.bssid ?? station.address)
            if let security = known.network?.security { message.security = security }
            Self.add(station, since: isSame ? known.station : nil, to: &message)
            known.station = station
            if Self.isDue(&known.surveyed, every: Self.surveySeconds, now: now) {
                known.noise = links.noise(of: interface.index, &reader)
            }
            if let noise = known.noise { message.noiseDecibelMilliwatts = noise }
        } else {
            known = Known()
        }
        if let ssid { message.ssid = Data(ssid) }
        if let frequency {
            message.frequencyMegahertz = frequency
            if let channel = WLANChannel.number(ofMegahertz: frequency) { message.channel = channel }
        }
        if let width = interface.width { message.widthMegahertz = width }
        self.known[interface.index] = known
        return message
    }

    private static func add(
        _ station: WLANStationMessage, since before: WLANStationMessage?, to message: inout WireWLANInterface
    ) {
        if let signal = station.signal { message.signalDecibelMilliwatts = signal }
        if let rate = station.transmitRate { message.transmitRateKilobits = rate }
        if let rate = station.receiveRate { message.receiveRateKilobits = rate }
        if let seconds = station.connectedSeconds { message.connectedSeconds = UInt64(seconds) }
        // The device joined the same access point again, so its counters started again.
        guard let before, (before.connectedSeconds ?? 0) <= (station.connectedSeconds ?? .max) else { return }
        func delta(_ field: KeyPath<WLANStationMessage, UInt32?>) -> UInt64? {
            guard let now = station[keyPath: field], let before = before[keyPath: field] else { return nil }
            return CounterDelta.since(UInt64(before), UInt64(now))
        }
        if let retries = delta(\.transmitRetries) { message.transmitRetries = retries }
        if let failures = delta(\.transmitFailures) { message.transmitFailures = failures }
        if let losses = delta(\.beaconLosses) { message.beaconLosses = losses }
    }

    // MARK: - /proc/net/wireless

    private mutating func interfacesOfFile() -> [WireWLANInterface] {
        let file = reader.parse(WirelessFile.path, maximumBytes: 64 * 1024, traced: false) { WirelessFile($0) }
        let interfaces = file?.interfaces ?? []
        let previous = previousFile
        previousFile = Dictionary(interfaces.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        return interfaces.map { interface in
            var message = WireWLANInterface()
            message.name = interface.name
            if let signal = interface.signal { message.signalDecibelMilliwatts = signal }
            if let noise = interface.noise { message.noiseDecibelMilliwatts = noise }
            if let before = previous[interface.name] {
                if let failures = CounterDelta.since(before.retryDiscards, interface.retryDiscards) {
                    message.transmitFailures = failures
                }
                if let losses = CounterDelta.since(before.missedBeacons, interface.missedBeacons) {
                    message.beaconLosses = losses
                }
            }
            return message
        }
    }
}

/// `/proc/net/wireless`: link quality for drivers that only know the older wireless extensions.
struct WirelessFile: Equatable {
    static let path = "/proc/net/wireless"
    static let maximumInterfaces = 32

    struct Interface: Equatable {
        var name: String
        /// The signal in dBm; absent if the driver uses its own unit.
        var signal: Int32?
        var noise: Int32?
        /// Packets dropped after all retries.
        var retryDiscards: UInt64
        var missedBeacons: UInt64
    }

    /// The plausible levels in dBm. The file marks a missing figure by -256 or a positive number.
    private static let levels: ClosedRange<Int64> = -200 ... -1

    var interfaces: [Interface] = []

    init(_ bytes: UnsafeRawBufferPointer) {
        for line in CompleteLines(bytes) where interfaces.count < Self.maximumInterfaces {
            guard let colon = line.firstIndex(of: 0x3a) else { continue }
            let name = UnsafeRawBufferPointer(rebasing: line[..<colon]).trimmed
            var scanner = ByteScanner(UnsafeRawBufferPointer(rebasing: line[(colon + 1)...]))
            // Status and link. A dot marks a current figure.
            guard !name.isEmpty, scanner.word() != nil, scanner.word() != nil, let level = Self.figure(&scanner),
                let noise = Self.figure(&scanner), scanner.number() != nil, scanner.number() != nil,
                scanner.number() != nil,
                let retries = scanner.number(), scanner.number() != nil, let beacons = scanner.number()
            else { continue }
            interfaces.append(
                Interface(
                    name: name.distinctText, signal: Self.levels.contains(level) ? Int32(level) : nil,
                    noise: Self.levels.contains(noise) ? Int32(noise) : nil, retryDiscards: retries,
                    missedBeacons: beacons))
        }
    }

    private static func figure(_ scanner: inout ByteScanner) -> Int64? {
        let figure = scanner.signedNumber()
        _ = scanner.consume(".")
        return figure
    }
}

/// The channel of a centre frequency (IEEE 802.11, annex E).
enum WLANChannel {
    /// - Returns: `nil` for frequencies that are no channel of 2.4, 5, 6 or 60 GHz.
    static func number(ofMegahertz frequency: UInt32) -> UInt32? {
        switch frequency {
        case 2_484: 14
        case 2_412...2_472: step(frequency, from: 2_407, by: 5)
        // Japan's public safety band.
        case 4_910...4_980: step(frequency, from: 4_000, by: 5)
        case 5_005...5_920: step(frequency, from: 5_000, by: 5)
        case 5_935: 2
        case 5_955...7_115: step(frequency, from: 5_950, by: 5)
        case 58_320...70_200: step(frequency, from: 56_160, by: 2_160)
        default: nil
        }
    }

    private static func step(_ frequency: UInt32, from base: UInt32, by width: UInt32) -> UInt32? {
        (frequency - base).isMultiple(of: width) ? (frequency - base) / width : nil
    }
}
