import Glibc

/// `RTM_NEWROUTE`: one route.
struct RouteMessage: Equatable, Sendable {
    static let type: UInt16 = 24
    static let mainTable: UInt32 = 254
    /// `struct rtmsg`
    private static let headerLength = 12
    private static let unicast: UInt8 = 1
    /// `RTNH_F_DEAD`, `RTNH_F_LINKDOWN`
    private static let dead: UInt32 = 1 | 16

    /// The routes of the main table for one address family.
    ///
    /// IPv4 routes are listed by address. Even on a router with a million of them, a bounded answer begins with the
    /// default routes. IPv6 lists default routes last, so on such a router they are unknown to us.
    static func main(_ family: UInt8) -> NetlinkRequest {
        NetlinkRequest(
            family: .route, type: 26, isDump: true, payload: [family, 0, 0, 0, UInt8(mainTable), 0, 0, 0, 0, 0, 0, 0])
    }

    struct Hop: Equatable, Sendable {
        /// The interface's index.
        var interface: UInt32
        /// `nil` if the destination is reached directly.
        var gateway: IPAddress?
    }

    var isDefault: Bool
    var table: UInt32
    /// Lower values are preferred.
    var metric: UInt32
    /// The next hops that work, in the kernel's order. None for a route that refuses.
    var hops: [Hop] = []

    init?(_ message: NetlinkMessages.Message) {
        let body = message.body
        guard message.type == Self.type, body.count >= Self.headerLength, let flags: UInt32 = body.number(at: 8) else {
            return nil
        }
        let family = body[0]
        isDefault = body[1] == 0
        table = UInt32(body[4])
        metric = 0
        var hop = (interface: UInt32?.none, gateway: IPAddress?.none)
        var others: [Hop] = []
        for attribute in NetlinkAttributes(body, from: Self.headerLength) {
            switch attribute.type {
            case 4: hop.interface = attribute.number()
            case 6: metric = attribute.number() ?? metric
            case 9: others = Self.hops(attribute.payload, family: family)
            case 15: table = attribute.number() ?? table
            default: if let gateway = Self.gateway(attribute, family: family) { hop.gateway = gateway }
            }
        }
        guard body[7] == Self.unicast else { return }
        if let interface = hop.interface, interface > 0, flags & Self.dead == 0 {
            hops = [Hop(interface: interface, gateway: hop.gateway)]
        }
        hops += others
    }

    private static func gateway(_ attribute: NetlinkAttributes.Attribute, family: UInt8) -> IPAddress? {
        switch attribute.type {
        case 5:
            return IPAddress(family: family, attribute.payload)
        case 18:
            // struct rtvia: a gateway of the other family.
            guard let family: UInt16 = attribute.payload.number(at: 0), let short = UInt8(exactly: family) else {
                return nil
            }
            return IPAddress(family: short, UnsafeRawBufferPointer(rebasing: attribute.payload[2...]))
        default:
            return nil
        }
    }

    /// `struct rtnexthop`: length, flags, weight, interface, then attributes.
    private static func hops(_ bytes: UnsafeRawBufferPointer, family: UInt8) -> [Hop] {
        var hops: [Hop] = []
        var position = 0
        while let length: UInt16 = bytes.number(at: position), length >= 8, Int(length) <= bytes.count - position,
            let interface: Int32 = bytes.number(at: position + 4)
        {
            let whole = UnsafeRawBufferPointer(rebasing: bytes[position..<(position + Int(length))])
            position += (Int(length) + 3) & ~3
            guard interface > 0, UInt32(whole[2]) & dead == 0 else { continue }
            let gateways = NetlinkAttributes(whole, from: 8).compactMap { Self.gateway($0, family: family) }
            hops.append(Hop(interface: UInt32(interface), gateway: gateways.first))
        }
        return hops
    }
}

/// `RTM_NEWADDR`: one address of an interface.
struct AddressMessage: Equatable, Sendable {
    static let type: UInt16 = 20
    /// The addresses of all interfaces and both families.
    static let all = NetlinkRequest(
        family: .route, type: 22, isDump: true, payload: [UInt8](repeating: 0, count: headerLength))
    /// `struct ifaddrmsg`
    private static let headerLength = 8

    var index: UInt32
    var prefixLength: UInt8
    /// `RT_SCOPE_*`
    var scope: UInt8
    var address: IPAddress

    init?(_ message: NetlinkMessages.Message) {
        let body = message.body
        guard message.type == Self.type, body.count >= Self.headerLength, let index: UInt32 = body.number(at: 4) else {
            return nil
        }
        let family = body[0]
        var local: IPAddress?
        var any: IPAddress?
        for attribute in NetlinkAttributes(body, from: Self.headerLength) {
            switch attribute.type {
            // On a point-to-point link this is the other end's address; the next attribute is ours.
            case 1: any = IPAddress(family: family, attribute.payload)
            case 2: local = IPAddress(family: family, attribute.payload)
            default: break
            }
        }
        guard let address = local ?? any, body[1] <= address.bytes.count * 8 else { return nil }
        self.index = index
        self.address = address
        prefixLength = body[1]
        scope = body[3]
    }

    /// The scope's name; `nil` for a number that an administrator made up.
    var scopeName: String? {
        switch scope {
        case 0: "global"
        case 200: "site"
        case 253: "link"
        case 254: "host"
        default: nil
        }
    }
}

/// An IPv4 or IPv6 address: 4 or 16 bytes.
struct IPAddress: Hashable, Sendable {
    /// `AF_INET` and `AF_INET6` of Linux, as they stand in netlink messages.
    static let version4: UInt8 = 2
    static let version6: UInt8 = 10

    let bytes: [UInt8]

    /// - Returns: `nil` where the length is not that of the family.
    init?(family: UInt8, _ bytes: UnsafeRawBufferPointer) {
        switch (family, bytes.count) {
        case (Self.version4, 4), (Self.version6, 16): self.bytes = Array(bytes)
        default: return nil
        }
    }

    /// The usual text, for IPv6 that of RFC 5952.
    var text: String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { memory in
            // Cannot fail: the family is one of two, and the memory is long enough.
            guard let text = inet_ntop(bytes.count == 4 ? AF_INET : AF_INET6, bytes, memory.baseAddress, 64) else {
                return ""
            }
            return String(cString: text)
        }
    }
}
