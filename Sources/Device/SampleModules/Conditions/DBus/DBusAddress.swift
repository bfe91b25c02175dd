/// Where a message bus listens (D-Bus specification, "Server Addresses"): only sockets of this machine are taken.
enum DBusAddress: Equatable, Sendable {
    case path(String)
    /// In Linux's abstract name space.
    case abstract(String)

    /// Where the system's bus listens when nothing else is said.
    static let system = DBusAddress.path("/run/dbus/system_bus_socket")

    /// The first address of a list that is a socket of this machine.
    ///
    /// - Parameter list: as in `DBUS_SYSTEM_BUS_ADDRESS`: `unix:path=/run/dbus/system_bus_socket;tcp:...`.
    init?(_ list: String) {
        for address in list.split(separator: ";") where address.hasPrefix("unix:") {
            for pair in address.dropFirst(5).split(separator: ",") {
                let parts = pair.split(separator: "=", maxSplits: 1)
                guard parts.count == 2, let value = Self.unescaped(parts[1]) else { continue }
                switch parts[0] {
                case "path":
                    self = .path(value)
                    return
                case "abstract":
                    self = .abstract(value)
                    return
                default: continue
                }
            }
        }
        return nil
    }

    private static func unescaped(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard rest.count >= 2, let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) else { return nil }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
