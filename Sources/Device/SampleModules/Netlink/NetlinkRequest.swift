/// One question to the kernel over netlink, without the parts that belong to the exchange (sequence and port).
package struct NetlinkRequest: Sendable, Hashable, CustomStringConvertible {
    /// Which part of the kernel is asked; the raw value is the socket's protocol.
    package enum Family: Int32, Sendable, Hashable {
        /// Interfaces, addresses and routes (rtnetlink(7)).
        case route = 0
        /// Families with a name, wireless among them.
        case generic = 16
    }

    package let family: Family
    package let type: UInt16
    /// All there is, instead of the one thing that the payload names.
    package let isDump: Bool
    /// What follows the message's header.
    package let payload: [UInt8]

    package init(family: Family, type: UInt16, isDump: Bool, payload: [UInt8]) {
        self.family = family
        self.type = type
        self.isDump = isDump
        self.payload = payload
    }

    /// For the trace, in place of a path.
    package var description: String {
        // A generic message begins with its command, which tells more than its type: families get theirs at run time.
        switch family {
        case .route: "netlink:route/\(type)"
        case .generic: "netlink:generic/\(payload.first ?? 0)"
        }
    }

    /// The message as it goes to the kernel (`struct nlmsghdr`, then the payload).
    func message(sequence: UInt32, port: UInt32) -> [UInt8] {
        var bytes = NetlinkBytes()
        bytes.add(UInt32(16 + payload.count))
        bytes.add(type)
        // NLM_F_REQUEST, with NLM_F_DUMP or NLM_F_ACK: each exchange has an end that can be told.
        bytes.add(UInt16(isDump ? 0x301 : 0x005))
        bytes.add(sequence)
        bytes.add(port)
        return bytes.bytes + payload
    }
}
