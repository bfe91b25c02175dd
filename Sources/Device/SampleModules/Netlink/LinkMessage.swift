/// `RTM_NEWLINK`: one network interface (rtnetlink(7), `<linux/if_link.h>`).
struct LinkMessage: Equatable, Sendable {
    static let type: UInt16 = 16
    /// All interfaces, without IPv6 statistics, which the kernel would otherwise collect for each interface.
    static let all: NetlinkRequest = {
        var payload = NetlinkBytes()
        payload.add([UInt8](repeating: 0, count: headerLength))
        // IFLA_EXT_MASK: RTEXT_FILTER_SKIP_STATS
        payload.add(attribute: 29, number: UInt32(8))
        return NetlinkRequest(family: .route, type: 18, isDump: true, payload: payload.bytes)
    }()
    /// `struct ifinfomsg`
    private static let headerLength = 16

    /// One interface by its index.
    static func one(_ index: UInt32) -> NetlinkRequest {
        var payload = NetlinkBytes()
        payload.add(UInt32(0))
        payload.add(index)
        payload.add(UInt64(0))
        payload.add(attribute: 29, number: UInt32(8))
        return NetlinkRequest(family: .route, type: 18, isDump: false, payload: payload.bytes)
    }

    /// The kernel does not reuse an index while it runs, unless somebody asks for a certain one.
    var index: UInt32
    /// `ARPHRD_*`
    var hardwareType: UInt16
    var name: String
    var mtu: UInt32?
    /// `IF_OPER_*`, RFC 2863
    var operationalState: UInt8?
    var carrierChanges: UInt32?
    /// The hardware address. For a tunnel, the address of its local end.
    var address: [UInt8] = []
    /// The kind of a virtual interface: `bridge`, `veth`, `wireguard` and so on; `nil` for hardware.
    var kind: String?
    var statistics: InterfaceStatistics?

    /// - Returns: `nil` for another kind of message, or if the index or the name is missing.
    init?(_ message: NetlinkMessages.Message) {
        let body = message.body
        guard message.type == Self.type, body.count >= Self.headerLength, let hardwareType: UInt16 = body.number(at: 2),
            let index: Int32 = body.number(at: 4), index > 0
        else { return nil }
        self.index = UInt32(index)
        self.hardwareType = hardwareType
        var name: String?
        for attribute in NetlinkAttributes(body, from: Self.headerLength) {
            switch attribute.type {
            case 1: address = attribute.payload.count <= 32 ? Array(attribute.payload) : []
            case 3: name = attribute.name
            case 4: mtu = attribute.number()
            case 16: operationalState = attribute.number()
            case 18: kind = attribute.nested.first { $0.type == 1 }?.text
            case 23: statistics = InterfaceStatistics(attribute.payload)
            case 35: carrierChanges = attribute.number()
            default: break
            }
        }
        guard let name else { return nil }
        self.name = name
    }
}

/// `RTM_NEWSTATS`: only the counters of one interface (Linux 4.7 and later).
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
}

extension StatisticsMessage {
    init?(_ message: NetlinkMessages.Message) {
        guard message.type == Self.type, message.body.count >= Self.headerLength,
            let index: UInt32 = message.body.number(at: 4),
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
    /// `nil` if the structure is incomplete. Newer kernels append fields.
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= 8 * 8 else { return nil }
        func counter(_ place: Int) -> UInt64 { bytes.loadUnaligned(fromByteOffset: place * 8, as: UInt64.self) }
        self.init(
            receivedPackets: counter(0), sentPackets: counter(1), receivedBytes: counter(2), sentBytes: counter(3),
            receivedErrors: counter(4), sentErrors: counter(5), receivedDrops: counter(6), sentDrops: counter(7))
    }
}
