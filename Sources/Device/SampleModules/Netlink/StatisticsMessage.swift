/// `RTM_NEWSTATS`: the counters of one interface and nothing else (Linux 4.7 and later).
struct StatisticsMessage: Equatable, Sendable {
    static let type: UInt16 = 92
    /// The 64-bit counters of all interfaces.
    static let all: NetlinkRequest = {
        var payload = NetlinkBytes()
        // struct if_stats_msg: family, padding, index, and the filter for IFLA_STATS_LINK_64.
        payload.add(UInt32(0))
        payload.add(UInt32(0))
        payload.add(UInt32(1))
        return NetlinkRequest(family: .route, type: 94, isDump: true, payload: payload.bytes)
    }()
    private static let headerLength = 12

    var index: UInt32
    var statistics: InterfaceStatistics

    init?(_ message: NetlinkMessages.Message) {
        guard message.type == Self.type, message.body.count >= Self.headerLength, let index: UInt32 = message.body.number(at: 4),
            let attribute = NetlinkAttributes(message.body, from: Self.headerLength).first(where: { $0.type == 1 }),
            let statistics = InterfaceStatistics(attribute.payload)
        else { return nil }
        self.index = index
        self.statistics = statistics
    }
}

/// The counters of an interface since it was created, as `struct rtnl_link_stats64` holds them.
struct InterfaceStatistics: Equatable, Sendable {
    var receivedPackets: UInt64 = 0
    var sentPackets: UInt64 = 0
    var receivedBytes: UInt64 = 0
    var sentBytes: UInt64 = 0
    var receivedErrors: UInt64 = 0
    var sentErrors: UInt64 = 0
    var receivedDrops: UInt64 = 0
    var sentDrops: UInt64 = 0
}

extension InterfaceStatistics {
    /// `nil` where the structure is not whole. Kernels have been making it longer at its end.
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= 8 * 8 else { return nil }
        func counter(_ place: Int) -> UInt64 { bytes.loadUnaligned(fromByteOffset: place * 8, as: UInt64.self) }
        self.init(
            receivedPackets: counter(0), sentPackets: counter(1), receivedBytes: counter(2), sentBytes: counter(3),
            receivedErrors: counter(4), sentErrors: counter(5), receivedDrops: counter(6), sentDrops: counter(7))
    }
}

extension StatisticsMessage {
    init(index: UInt32, statistics: InterfaceStatistics) {
        self.index = index
        self.statistics = statistics
    }
}
