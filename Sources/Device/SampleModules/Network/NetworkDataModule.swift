import Logging
import WireModel

/// The NetworkData module: the traffic of the machine's interfaces, per interface and per class of network, and the
/// state of TCP and UDP.
///
/// **Source.** The counters come from `RTM_GETSTATS`. It costs the kernel half of what writing `/proc/net/dev` does
/// (measured: 5 against 8 microseconds for four interfaces, and less per further one). It gives 64-bit numbers and
/// identifies interfaces by index. An interface that was removed and made again has another index, so its counters are
/// never compared with its predecessor's. Names, addresses and classes come from `RTM_GETLINK` (23 microseconds), at
/// most every ``refreshSeconds`` seconds and whenever an unknown index appears. Kernels before 4.7 have no
/// `RTM_GETSTATS` and are asked for links each time.
///
/// **Deltas.** A delta is absent if there is nothing to compare with: the first sample, a new interface, another
/// hardware address, counters that started again, another boot.
///
/// **Classes.** A class adds up the interfaces that are not stacked on others, because a bond, bridge or VLAN counts
/// what its parts count. A tunnel counts as tunnel, and the interface that carries it as its own class. Interfaces that
/// never moved a packet are left out. Only a modem's manager knows whether the device roams.
package struct NetworkDataModule: SampleModule {
    /// The longest time that names and hardware addresses are reused, in seconds.
    static let refreshSeconds: UInt64 = 10
    /// The longest time that classes are reused, in seconds. Bonds and bridges gain and lose parts.
    static let classSeconds: UInt64 = 60
    /// The most interfaces listed by themselves, oldest first. Others count only in their class: a host of containers
    /// has thousands.
    static let maximumInterfaces = 64
    private static let maximumAnswer = 1024 * 1024
    private static let smallFile = 64 * 1024

    private struct Interface {
        var name: String
        var address: [UInt8]
        var kind: InterfaceClass
        var previous: InterfaceStatistics?
        /// When the counters began, in microseconds since boot; `nil`: before the module first read them.
        var began: UInt64?
    }

    package let name = SampleModuleName.networkData
    private let roaming: @Sendable () -> Bool?
    private var reader: FileReader
    private var interfaces: [UInt32: Interface] = [:]
    private var refreshed: UInt64?
    /// When the counters were read last.
    private var countersRead: UInt64?
    private var classified: UInt64?
    private var previousTime: SampleTime?
    private var previousBoot: BootID?
    private var previousProtocols: SNMPFile?
    private var previousUDPErrors6: UInt64?

    /// - Parameter roaming: whether the device roams; `nil` if unknown.
    package init(host: any HostSource, logger: Logger, roaming: @escaping @Sendable () -> Bool? = { nil }) {
        self.roaming = roaming
        reader = FileReader(host: host, logger: logger)
    }

    package mutating func sample(at time: SampleTime) -> SampleResult {
        guard let sample = read(at: time) else {
            return .none(reason: "the kernel tells nothing about network interfaces")
        }
        return .sample(Sample(kind: .sampleNetworkData, module: name.rawValue, body: sample.encoded))
    }

    /// Takes one sample as a message; `nil` if neither interfaces nor protocols can be read.
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
        sample.roaming = roaming().map { $0 ? .yes : .no } ?? .unknown
        previousTime = time
        return sample
    }

    /// Memory may outlive a boot, because processes and whole machines are frozen and resumed.
    private mutating func forgetOtherBoot(now: UInt64) {
        let boot = reader.parse(BootIDFile.path, maximumBytes: 64, keepOpen: true) { BootIDFile.parse($0) }
        let isOther = boot != previousBoot || previousTime.map { now < $0.sinceBootMicroseconds } ?? false
        previousBoot = boot
        guard isOther else { return }
        interfaces = [:]
        refreshed = nil
        countersRead = nil
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
        // By age: interfaces present at boot come before those added later.
        counters.sort { $0.index < $1.index }

        var classes: [WireNetworkClass: (delta: InterfaceStatistics?, total: InterfaceStatistics)] = [:]
        for counter in counters {
            guard var interface = interfaces[counter.index] else { continue }
            let delta = interface.previous.flatMap { counter.statistics.since($0) }
            if interface.previous != nil, delta == nil { interface.began = countersRead }
            interface.previous = counter.statistics
            interfaces[counter.index] = interface
            guard counter.statistics != InterfaceStatistics() else { continue }

            if sample.interfaces.count < Self.maximumInterfaces {
                var message = WireInterfaceData()
                message.name = interface.name
                message.class = interface.kind.networkClass
                if let delta { message.delta = WireInterfaceCounters(delta) }
                message.total = WireInterfaceCounters(counter.statistics)
                if let began = interface.began, began <= now { message.countedMicroseconds = now - began }
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
        countersRead = now
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
                // A renamed interface keeps its counters.
                let known = interfaces[link.index]
                let previous = known.flatMap { $0.address == link.address ? $0.previous : nil }
                current[link.index] = Interface(
                    name: link.name, address: link.address, kind: InterfaceClass.of(link.name, host: reader.host),
                    previous: previous, began: known == nil ? countersRead : known?.began)
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

/// The growth of a kernel counter between two readings.
enum CounterDelta {
    /// - Returns: `nil` if the counter went back without a plausible wrap, which means that it started again.
    ///
    /// A counter wraps at 32 bits (older drivers and kernels) or at 64. We assume a wrap only if it was in the upper
    /// half before and grew by less than half of its range. The reset of a young counter looks different.
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
    /// The growth since `earlier`.
    ///
    /// - Returns: `nil` if any counter started again. An interface is reset as a whole, so then no counter can be
    ///   compared.
    func since(_ earlier: InterfaceStatistics) -> InterfaceStatistics? {
        merged(with: earlier) { now, before in CounterDelta.since(before, now) }
    }

    /// Adds another interface's counters. Stays at the greatest number instead of wrapping.
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
