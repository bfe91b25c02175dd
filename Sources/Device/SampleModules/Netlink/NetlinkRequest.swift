/// A request to the kernel over netlink. Sequence number and port belong to the exchange.
package struct NetlinkRequest: Sendable, Hashable, CustomStringConvertible {
    /// The part of the kernel that is asked. The raw value is the socket's protocol.
    package enum Family: Int32, Sendable, Hashable {
        /// Interfaces, addresses and routes (rtnetlink(7)).
        case route = 0
        /// Families known by name, such as wireless.
        case generic = 16
    }

    package let family: Family
    package let type: UInt16
    /// Asks for a list of everything, not only for what the payload names.
    package let isDump: Bool
    /// The bytes after the message's header.
    package let payload: [UInt8]

    package init(family: Family, type: UInt16, isDump: Bool, payload: [UInt8]) {
        self.family = family
        self.type = type
        self.isDump = isDump
        self.payload = payload
    }

    /// Used in logs in place of a path.
    package var description: String {
        // A generic message begins with its command. The command says more than the type, which is assigned at run
        // time.
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
        // NLM_F_REQUEST with NLM_F_DUMP or NLM_F_ACK, so the end of every exchange can be recognized.
        bytes.add(UInt16(isDump ? 0x301 : 0x005))
        bytes.add(sequence)
        bytes.add(port)
        return bytes.bytes + payload
    }
}

/// Writes kernel structures: numbers in the machine's byte order, attributes padded to four bytes.
package struct NetlinkBytes: Sendable {
    package private(set) var bytes: [UInt8] = []

    package init() {}

    package mutating func add(_ number: some FixedWidthInteger) {
        withUnsafeBytes(of: number) { bytes.append(contentsOf: $0) }
    }

    package mutating func add(_ part: [UInt8]) {
        bytes.append(contentsOf: part)
    }

    /// `struct nlattr` and its padding.
    package mutating func add(attribute type: UInt16, _ payload: [UInt8]) {
        add(UInt16(4 + payload.count))
        add(type)
        add(payload)
        while bytes.count % 4 != 0 { bytes.append(0) }
    }

    package mutating func add(attribute type: UInt16, number: some FixedWidthInteger) {
        add(attribute: type, withUnsafeBytes(of: number) { Array($0) })
    }

    /// Text with its NUL.
    package mutating func add(attribute type: UInt16, text: String) {
        add(attribute: type, Array(text.utf8) + [0])
    }
}

/// Generic netlink: families with a name and a number that differs from machine to machine.
enum GenericNetlink {
    /// `struct genlmsghdr`: command, version, two bytes reserved.
    static let headerLength = 4
    private static let controller: UInt16 = 16

    static func payload(command: UInt8, version: UInt8 = 0) -> NetlinkBytes {
        var payload = NetlinkBytes()
        payload.add([command, version, 0, 0])
        return payload
    }

    /// Asks the controller for a family's number (`CTRL_CMD_GETFAMILY`).
    ///
    /// If the kernel does not know the name, it starts a program to load a module. Ask only for a family that other
    /// signs show to exist.
    static func family(named name: String) -> NetlinkRequest {
        var payload = payload(command: 3, version: 1)
        payload.add(attribute: 2, text: name)
        return NetlinkRequest(family: .generic, type: controller, isDump: false, payload: payload.bytes)
    }

    /// The number in the controller's answer.
    static func familyNumber(_ messages: NetlinkMessages) -> UInt16? {
        for message in messages
        where message.type == controller && message.body.count >= headerLength && message.body[0] == 1 {
            if let number: UInt16 = NetlinkAttributes(message.body, from: headerLength).first(where: { $0.type == 1 })?
                .number()
            {
                return number
            }
        }
        return nil
    }
}
