import Logging
import WireModel

/// The NetworkData module: what went over the machine's interfaces, per interface and per class of network, and how TCP
/// and UDP fare.
///
/// The counters come from `RTM_GETSTATS`, which costs the kernel half of what writing `/proc/net/dev` does (measured: 5
/// against 8 microseconds for four interfaces, and less per further one), gives 64-bit numbers, and names interfaces by
/// their index: one that was removed and made anew has another index even when it has the same name, so its counters
/// are never compared with its predecessor's. Names, addresses and classes come from `RTM_GETLINK` (23 microseconds),
/// at most every ``refreshSeconds`` seconds and whenever an unknown index shows. Kernels without `RTM_GETSTATS` (before
/// 4.7) are asked for links each time.
///
/// A delta is absent where there is nothing to compare with: the first sample, a new interface, another hardware
/// address, counters that began anew, another boot. Classes add up interfaces that do not stand on others (a bond,
/// bridge or VLAN counts what its parts count); a tunnel counts as tunnel, and what carries it as that. Interfaces that
/// never moved a packet are left out. Whether the device roams only a modem's manager knows: unknown here, unless
/// ``roaming`` says.
package struct NetworkDataModule: SampleModule {
    /// The greatest age of names and hardware addresses, in seconds.
    static let refreshSeconds: UInt64 = 10
    /// The greatest age of classes, in seconds: bonds and bridges get and lose parts.
    static let classSeconds: UInt64 = 60
    /// More interfaces than this count in their class only, the oldest first in: a host of containers has thousands.
    static let maximumInterfaces = 64
    private static let maximumAnswer = 1024 * 1024
    private static let smallFile = 64 * 1024

    private struct Interface {
        var name: String
        var address: [UInt8]
        var kind: InterfaceClass
        var previous: InterfaceStatistics?
    }

    package let name = SampleModuleName.networkData
    /// What a modem's manager last said, if anybody asked it.
    package var roaming = WireVerdict.unknown

    private var reader: FileReader
    private var interfaces: [UInt32: Interface] = [:]
    private var refreshed: UInt64?
    private var classified: UInt64?
    private var previousTime: SampleTime?
    private var previousBoot: BootID?
    private var previousProtocols: SNMPFile?
    private var previousUDPErrors6: UInt64?

    package init(host: any HostSource, logger: Logger) {
        reader = FileReader(host: host, logger: logger)
    }

    package mutating func sample(at time: SampleTime) -> SampleResult {
        guard let sample = read(at: time) else {
            return .none(reason: "the kernel tells nothing about network interfaces")
        }
        return .sample(Sample(kind: .sampleNetworkData, module: name.rawValue, body: sample.encoded))
    }

    /// One reading as a message; `nil` where neither interfaces nor protocols can be read.
    mutating func read(at time: SampleTime) -> WireNetworkDataSample? {
        let now = time.sinceBootMicroseconds
        forgetOtherBoot(now: now)
        var sample = WireNetworkDataSample()
        if let previousTime, now > previousTime.sinceBootMicroseconds {
            sample.intervalMicroseconds = now - previousTime.sinceBootMicroseconds
        }
        let hasInterfaces = addInterfaces(to: &sample, now: now)
        let hasProtocols = addProtocols(to: &sample)
        guard hasInterfaces || hasProtocols else { return nil }
        sample.roaming = roaming
        previousTime = time
        return sample
    }

    /// Memory may outlive a boot: processes and whole machines are frozen and thawed.
    private mutating func forgetOtherBoot(now: UInt64) {
        let boot = reader.parse(BootIDFile.path, maximumBytes: 64, keepOpen: true) { BootIDFile.parse($0) }
        let isOther = boot != previousBoot || previousTime.map { now < $0.sinceBootMicroseconds } ?? false
        previousBoot = boot
        guard isOther else { return }
        interfaces = [:]
        refreshed = nil
        previousTime = nil
        previousProtocols = nil
        previousUDPErrors6 = nil
    }

    // MARK: - Interfaces

    private mutating func addInterfaces(to sample: inout WireNetworkDataSample, now: UInt64) -> Bool {
        guard var counters = readCounters() else { return false }
        let isStale = refreshed.map { now >= $0 + Self.refreshSeconds * 1_000_000 } ?? true
        if isStale || counters.count != interfaces.count || counters.contains(where: { interfaces[$0.index] == nil }) {
            refresh(now: now)
        }
        // By age: what the machine started with before what came later.
        counters.sort { $0.index < $1.index }

        var classes: [WireNetworkClass: (delta: InterfaceStatistics?, total: InterfaceStatistics)] = [:]
        for counter in counters {
            guard var interface = interfaces[counter.index] else { continue }
            let delta = interface.previous.flatMap { counter.statistics.since($0) }
            interface.previous = counter.statistics
            interfaces[counter.index] = interface
            guard counter.statistics != InterfaceStatistics() else { continue }

            if sample.interfaces.count < Self.maximumInterfaces {
                var message = WireInterfaceData()
                message.name = interface.name
                message.class = interface.kind.networkClass
                if let delta { message.delta = WireInterfaceCounters(delta) }
                message.total = WireInterfaceCounters(counter.statistics)
                sample.interfaces.append(message)
            }
            guard !interface.kind.isStacked else { continue }
            var sum = classes[interface.kind.networkClass] ?? (nil, InterfaceStatistics())
            sum.total.add(counter.statistics)
            if let delta {
                var sumOfDeltas = sum.delta ?? InterfaceStatistics()
                sumOfDeltas.add(delta)
                sum.delta = sumOfDeltas
            }
            classes[interface.kind.networkClass] = sum
        }
        sample.classes = classes.sorted { $0.key.rawValue < $1.key.rawValue }.map { networkClass, sum in
            var message = WireNetworkClassData()
            message.class = networkClass
            if let delta = sum.delta { message.delta = WireInterfaceCounters(delta) }
            message.total = WireInterfaceCounters(sum.total)
            return message
        }
        return true
    }

    private mutating func readCounters() -> [StatisticsMessage]? {
        let counters = reader.exchange(StatisticsMessage.all, maximumBytes: Self.maximumAnswer, traced: false) {
            messages in
            messages.compactMap { StatisticsMessage($0) }
        }
        if let counters { return counters }
        return reader.exchange(LinkMessage.all, maximumBytes: Self.maximumAnswer) { messages in
            messages.compactMap { message in
                LinkMessage(message).flatMap { link in
                    link.statistics.map { StatisticsMessage(index: link.index, statistics: $0) }
                }
            }
        }
    }

    private mutating func refresh(now: UInt64) {
        let links = reader.exchange(LinkMessage.all, maximumBytes: Self.maximumAnswer) {
            $0.compactMap { LinkMessage($0) }
        }
        guard let links else { return }
        refreshed = now
        let classifies = Self.isDue(&classified, every: Self.classSeconds, now: now)
        var current: [UInt32: Interface] = [:]
        for link in links {
            if var known = interfaces[link.index], known.name == link.name {
                if known.address != link.address { known.previous = nil }
                known.address = link.address
                if classifies { known.kind = InterfaceClass.of(link.name, host: reader.host) }
                current[link.index] = known
            } else {
                // A renamed interface goes on as it was.
                let previous = interfaces[link.index].flatMap { $0.address == link.address ? $0.previous : nil }
                current[link.index] = Interface(
                    name: link.name, address: link.address, kind: InterfaceClass.of(link.name, host: reader.host),
                    previous: previous)
            }
        }
        interfaces = current
    }

    // MARK: - Protocols

    private mutating func addProtocols(to sample: inout WireNetworkDataSample) -> Bool {
        let current = reader.parse(SNMPFile.path, maximumBytes: Self.smallFile, keepOpen: true) { bytes in
            let file = SNMPFile(bytes)
            return file.tcpActiveOpens == nil ? nil : file
        }
        // A machine without IPv6 has no such file.
        let udpErrors6 = reader.parse(SNMPFile.path6, maximumBytes: Self.smallFile, keepOpen: true, traced: false) {
            SNMPFile.udpErrors6($0)
        }
        let sockets = reader.parse(SocketStatistics.path, maximumBytes: Self.smallFile, keepOpen: true) {
            SocketStatistics($0)
        }
        if let used = sockets?.used { sample.socketsInUse = UInt32(clamping: used) }

        let previous = previousProtocols
        func delta(_ field: KeyPath<SNMPFile, UInt64?>) -> UInt64? {
            guard let now = current?[keyPath: field], let before = previous?[keyPath: field] else { return nil }
            return CounterDelta.since(before, now)
        }
        if let opens = delta(\.tcpActiveOpens) { sample.tcpActiveOpens = opens }
        if let opens = delta(\.tcpPassiveOpens) { sample.tcpPassiveOpens = opens }
        if let resets = delta(\.tcpResetsSent) { sample.tcpResetsSent = resets }
        if let resets = delta(\.tcpResetsReceived) { sample.tcpResetsReceived = resets }
        if let retransmits = delta(\.tcpRetransmits) { sample.tcpRetransmits = retransmits }
        if let established = current?.tcpEstablished { sample.tcpEstablished = UInt32(clamping: established) }
        if let errors = delta(\.udpErrors) {
            let errors6 = udpErrors6.flatMap { now in previousUDPErrors6.flatMap { CounterDelta.since($0, now) } }
            sample.udpErrors = errors.addingReportingOverflow(errors6 ?? 0).partialValue
        }
        previousProtocols = current
        previousUDPErrors6 = udpErrors6
        return current != nil || sockets != nil
    }
}

extension WireInterfaceCounters {
    fileprivate init(_ statistics: InterfaceStatistics) {
        self.init()
        receivedBytes = statistics.receivedBytes
        sentBytes = statistics.sentBytes
        receivedPackets = statistics.receivedPackets
        sentPackets = statistics.sentPackets
        receivedErrors = statistics.receivedErrors
        sentErrors = statistics.sentErrors
        receivedDrops = statistics.receivedDrops
        sentDrops = statistics.sentDrops
    }
}

/// How far a counter of the kernel went on between two readings.
enum CounterDelta {
    /// - Returns: `nil` where the counter went back and did not plausibly wrap: it began anew.
    ///
    /// A counter wraps at 32 bits (older drivers' and kernels') or at 64. It is taken to have wrapped only if it stood
    /// in the upper half before and went on by less than half of its range: a reset of a young counter looks different.
    static func since(_ before: UInt64, _ now: UInt64) -> UInt64? {
        if now >= before { return now - before }
        let half = UInt64(1) << 31
        if before <= UInt64(UInt32.max) {
            let delta = now + (UInt64(1) << 32) - before
            return before >= half && delta < half ? delta : nil
        }
        let delta = now &- before
        return before >= 1 << 63 && delta < 1 << 63 ? delta : nil
    }
}

extension InterfaceStatistics {
    /// What was counted since `earlier`.
    ///
    /// - Returns: `nil` where any counter began anew: an interface is reset as a whole, and then none of them compares.
    func since(_ earlier: InterfaceStatistics) -> InterfaceStatistics? {
        merged(with: earlier) { now, before in CounterDelta.since(before, now) }
    }

    /// Adds another interface's; stays at the greatest number rather than wrap.
    mutating func add(_ other: InterfaceStatistics) {
        let sum = merged(with: other) { one, two in
            let (sum, overflow) = one.addingReportingOverflow(two)
            return overflow ? .max : sum
        }
        self = sum ?? self
    }

    private func merged(
        with other: InterfaceStatistics, _ merge: (UInt64, UInt64) -> UInt64?
    ) -> InterfaceStatistics? {
        guard let receivedPackets = merge(receivedPackets, other.receivedPackets),
            let sentPackets = merge(sentPackets, other.sentPackets),
            let receivedBytes = merge(receivedBytes, other.receivedBytes),
            let sentBytes = merge(sentBytes, other.sentBytes),
            let receivedErrors = merge(receivedErrors, other.receivedErrors),
            let sentErrors = merge(sentErrors, other.sentErrors),
            let receivedDrops = merge(receivedDrops, other.receivedDrops),
            let sentDrops = merge(sentDrops, other.sentDrops)
        else { return nil }
        return InterfaceStatistics(
            receivedPackets: receivedPackets, sentPackets: sentPackets, receivedBytes: receivedBytes,
            sentBytes: sentBytes, receivedErrors: receivedErrors, sentErrors: sentErrors,
            receivedDrops: receivedDrops, sentDrops: sentDrops)
    }
}
