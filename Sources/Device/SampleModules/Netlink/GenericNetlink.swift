/// Generic netlink: families that have a name and, on each machine, another number.
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
    /// The kernel looks for a module to load where it does not know the name, and starts a program for it: ask only for a
    /// family that other signs say is there.
    static func family(named name: String) -> NetlinkRequest {
        var payload = payload(command: 3, version: 1)
        payload.add(attribute: 2, text: name)
        return NetlinkRequest(family: .generic, type: controller, isDump: false, payload: payload.bytes)
    }

    /// The number in the controller's answer.
    static func familyNumber(_ messages: NetlinkMessages) -> UInt16? {
        for message in messages where message.type == controller && message.body.count >= headerLength && message.body[0] == 1 {
            if let number: UInt16 = NetlinkAttributes(message.body, from: headerLength).first(where: { $0.type == 1 })?.number() {
                return number
            }
        }
        return nil
    }
}
