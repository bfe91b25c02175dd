import FoundationEssentials
import Glibc
import TelemetryBasics
import WireModel

/// A short conversation with a message bus over its socket: authenticate as the running user, say hello, call, close.
///
/// One deadline bounds all of it, whatever the other side does. It starts nothing and leaves nothing behind. Use it
/// from one thread.
final class DBusConnection {
    enum Failure: Error, Equatable {
        /// Nobody listens on the socket.
        case absent
        case timedOut
        /// The bus or the service refused; its text.
        case refused(String)
        case malformed
        case io(errno: Int32)
    }

    private let descriptor: CInt
    private let deadline: Int64
    private var serial: UInt32 = 0
    /// Bytes received and not used yet.
    private var buffer: [UInt8] = []

    /// - Parameter timeoutMilliseconds: the whole conversation ends after this time.
    init(_ address: DBusAddress, timeoutMilliseconds: Int64) throws(Failure) {
        deadline = SystemClock.monotonicNanoseconds() + timeoutMilliseconds * 1_000_000
        descriptor = socket(
            AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue) | CInt(SOCK_NONBLOCK.rawValue), 0)
        guard descriptor >= 0 else { throw .io(errno: errno) }
        // From here on deinit closes the descriptor, whatever fails.
        try Self.reach(address, with: descriptor)
        try authenticate()
        let hello = DBusMessage.Call(
            destination: "org.freedesktop.DBus", path: "/org/freedesktop/DBus", interface: "org.freedesktop.DBus",
            member: "Hello")
        _ = try call(hello)
    }

    deinit { close(descriptor) }

    /// Calls a method and waits for its answer. Ignores other messages that arrive meanwhile.
    func call(_ call: DBusMessage.Call) throws(Failure) -> [DBusValue] {
        serial += 1
        try transmit(DBusMessage.encode(call, serial: serial))
        while true {
            try receive(atLeast: DBusMessage.prefixBytes)
            guard let length = DBusMessage.length(Array(buffer.prefix(DBusMessage.prefixBytes))) else {
                throw .malformed
            }
            try receive(atLeast: length)
            guard let reply = DBusMessage.decode(Array(buffer.prefix(length))) else { throw .malformed }
            buffer.removeFirst(length)
            guard reply.serial == serial else { continue }
            switch reply.content {
            case .values(let values): return values
            case .error(let name): throw .refused(name)
            }
        }
    }

    /// `org.freedesktop.DBus.Properties.Get`.
    func property(_ name: String, of interface: String, at path: String, destination: String) throws(Failure)
        -> DBusValue
    {
        let values = try call(
            DBusMessage.Call(
                destination: destination, path: path, interface: "org.freedesktop.DBus.Properties", member: "Get",
                arguments: [interface, name]))
        guard let value = values.first, values.count == 1 else { throw .malformed }
        return value
    }

    // MARK: Authentication

    /// SASL EXTERNAL: the kernel tells the bus who we are, and we name the user we mean (D-Bus specification,
    /// "Authentication Protocol").
    private func authenticate() throws(Failure) {
        let user = Data("\(geteuid())".utf8).hexadecimal.utf8
        try transmit([0] + Array("AUTH EXTERNAL ".utf8) + user + Array("\r\n".utf8))
        let answer = try line()
        guard answer.starts(with: "OK ".utf8) else {
            throw .refused(String(decoding: answer.prefix(64), as: UTF8.self))
        }
        try transmit(Array("BEGIN\r\n".utf8))
    }

    private func line() throws(Failure) -> [UInt8] {
        while true {
            if let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
                let line = Array(buffer[..<end])
                buffer.removeFirst(end + 1)
                return line
            }
            // A longer line does not belong to the protocol.
            guard buffer.count < 4_096 else { throw .malformed }
            try receive(atLeast: buffer.count + 1)
        }
    }

    // MARK: Socket

    private static func reach(_ address: DBusAddress, with descriptor: CInt) throws(Failure) {
        var storage = sockaddr_un()
        storage.sun_family = sa_family_t(AF_UNIX)
        let name: [UInt8] =
            switch address {
            case .path(let path): Array(path.utf8) + [0]
            case .abstract(let name): [0] + Array(name.utf8)
            }
        let capacity = MemoryLayout.size(ofValue: storage.sun_path)
        guard name.count <= capacity else { throw .absent }
        withUnsafeMutableBytes(of: &storage.sun_path) { $0.copyBytes(from: name) }
        let length = socklen_t(MemoryLayout<sockaddr_un>.size - capacity + name.count)
        let result = withUnsafePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, length) }
        }
        guard result == 0 else {
            switch errno {
            case ENOENT, ECONNREFUSED, ENOTDIR, EACCES: throw .absent
            // The backlog is full: the bus does not answer.
            case EAGAIN: throw .timedOut
            default: throw .io(errno: errno)
            }
        }
    }

    private func transmit(_ bytes: [UInt8]) throws(Failure) {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { memory in
                retryingOnInterrupt {
                    send(descriptor, memory.baseAddress! + sent, memory.count - sent, CInt(MSG_NOSIGNAL))
                }
            }
            if count > 0 {
                sent += count
            } else if errno == EAGAIN {
                try wait(for: CShort(POLLOUT))
            } else {
                throw .io(errno: errno)
            }
        }
    }

    private func receive(atLeast wanted: Int) throws(Failure) {
        while buffer.count < wanted {
            var chunk = [UInt8](repeating: 0, count: 4_096)
            let count = retryingOnInterrupt { read(descriptor, &chunk, chunk.count) }
            if count > 0 {
                buffer += chunk[..<count]
            } else if count == 0 {
                throw .refused("the bus hung up")
            } else if errno == EAGAIN {
                try wait(for: CShort(POLLIN))
            } else {
                throw .io(errno: errno)
            }
        }
    }

    private func wait(for events: CShort) throws(Failure) {
        let now = SystemClock.monotonicNanoseconds()
        guard now < deadline else { throw .timedOut }
        var descriptors = pollfd(fd: descriptor, events: events, revents: 0)
        // Rounded up, so the loop does not spin through the last fraction of a millisecond.
        let result = poll(&descriptors, 1, CInt(clamping: (deadline - now + 999_999) / 1_000_000))
        if result == 0 { throw .timedOut }
        if result < 0, errno != EINTR { throw .io(errno: errno) }
    }
}

/// The address of a message bus (D-Bus specification, "Server Addresses"). Only sockets of this machine are accepted.
enum DBusAddress: Equatable, Sendable {
    case path(String)
    /// A name in Linux's abstract socket namespace.
    case abstract(String)

    /// The system bus's usual address.
    static let system = DBusAddress.path("/run/dbus/system_bus_socket")

    /// The first address in a list that is a socket of this machine.
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
            guard rest.count >= 2, let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) else {
                return nil
            }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
