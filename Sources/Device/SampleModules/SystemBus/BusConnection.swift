import Glibc
import TelemetryBasics

/// A connection to a message bus. Use it from one thread at a time.
///
/// Nothing in it waits beyond the deadline, whatever the other side does.
package final class BusConnection {
    enum Failure: Error, Equatable {
        /// There is no bus, or no library to speak with it; the text says what is missing.
        case absent(String)
        case timedOut
        /// The service refused, or there is none; the error's name and message.
        case refused(String)
        case hungUp
        case malformed
        case io(errno: CInt)
    }

    /// A method, and the object to call it on.
    struct Call: Equatable {
        var destination: String
        var path: String
        var interface: String
        var member: String
        /// All arguments are text.
        var arguments: [String] = []
    }

    struct Signal: Equatable {
        var path: String
        var interface: String
        var member: String
        var values: [BusValue]
    }

    /// The address in `DBUS_SYSTEM_BUS_ADDRESS`, or else the usual one.
    package static var systemAddress: String {
        getenv("DBUS_SYSTEM_BUS_ADDRESS").map { String(cString: $0) } ?? "unix:path=\(usualSocket)"
    }

    private static let usualSocket = "/run/dbus/system_bus_socket"

    private let library: SDBus
    private let bus: SDBus.Bus
    private var deadline: Int64

    /// Connects, authenticates and says hello.
    ///
    /// - Parameters:
    ///   - address: as in `DBUS_SYSTEM_BUS_ADDRESS`: `unix:path=/run/dbus/system_bus_socket`.
    ///   - milliseconds: the first deadline.
    init(_ address: String, milliseconds: Int64) throws(Failure) {
        // Looked at first, so that the library is not loaded for nothing.
        if address == "unix:path=\(Self.usualSocket)", access(Self.usualSocket, F_OK) != 0 {
            throw .absent("there is no system bus: \(Self.usualSocket) does not exist")
        }
        guard let library = SDBus.shared else {
            throw .absent(
                "\(SDBus.libraries.joined(separator: " and ")) are missing or too old: install one, in Debian "
                    + "with the package libsystemd0")
        }
        deadline = Self.deadline(in: milliseconds)
        self.library = library
        var bus: SDBus.Bus?
        guard library.new(&bus) >= 0, let bus else { throw .io(errno: ENOMEM) }
        self.bus = bus
        // From here on deinit closes the connection, whatever fails.
        guard library.setAddress(bus, address) >= 0, library.setBusClient(bus, 1) >= 0 else {
            throw .absent("\(address) is no address of a bus")
        }
        let result = library.start(bus)
        guard result >= 0 else { throw Self.failure(result, at: address) }
        while library.isReady(bus) == 0 { try advance(at: address) }
    }

    deinit { _ = library.closeUnref(bus) }

    private static func deadline(in milliseconds: Int64) -> Int64 {
        SystemClock.monotonicNanoseconds() + milliseconds * 1_000_000
    }

    /// Limits the time for all that follows.
    func allow(milliseconds: Int64) { deadline = Self.deadline(in: milliseconds) }

    /// Microseconds until the deadline, at least 1.
    private func remaining() throws(Failure) -> UInt64 {
        let left = (deadline - SystemClock.monotonicNanoseconds()) / 1000
        guard left > 0 else { throw .timedOut }
        return UInt64(left)
    }

    /// One step of the connection's beginning.
    private func advance(at address: String) throws(Failure) {
        let result = library.process(bus, nil)
        guard result >= 0 else { throw Self.failure(result, at: address) }
        guard result == 0 else { return }
        let waited = library.wait(bus, try remaining())
        if waited < 0, waited != -EINTR { throw Self.failure(waited, at: address) }
    }

    // MARK: Calls

    /// Calls a method and waits for its answer. Signals that arrive meanwhile are kept for ``nextSignal()``.
    func call(_ call: Call) throws(Failure) -> [BusValue] {
        let library = library
        return try reply(to: call) { BusValue.values(of: $0, library) }
    }

    /// Calls a method that answers with a file descriptor, which is the caller's to close.
    func callForDescriptor(_ call: Call) throws(Failure) -> CInt {
        let library = library
        return try reply(to: call) { message in
            var descriptor: CInt = -1
            guard library.read(message, CChar(UInt8(ascii: "h")), &descriptor) > 0 else { return nil }
            // The message's own goes with the message.
            let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
            return copy >= 0 ? copy : nil
        }
    }

    /// `org.freedesktop.DBus.Properties.Get`.
    func property(_ name: String, of interface: String, at path: String, destination: String) throws(Failure)
        -> BusValue
    {
        let values = try call(
            Call(
                destination: destination, path: path, interface: "org.freedesktop.DBus.Properties", member: "Get",
                arguments: [interface, name]))
        guard let value = values.first, values.count == 1 else { throw .malformed }
        return value
    }

    private func reply<Value>(to call: Call, _ read: (SDBus.Message) -> Value?) throws(Failure) -> Value {
        var message: SDBus.Message?
        let made = library.newCall(bus, &message, call.destination, call.path, call.interface, call.member)
        guard made >= 0, let message else { throw .io(errno: -made) }
        defer { _ = library.unref(message) }
        // A question is no reason to start a service.
        _ = library.setAutoStart(message, 0)
        for argument in call.arguments {
            // A text is handed over by its own address.
            let appended = argument.withCString { library.append(message, CChar(UInt8(ascii: "s")), $0) }
            guard appended >= 0 else { throw .io(errno: -appended) }
        }
        var failure = SDBus.Failure()
        defer { library.freeError(&failure) }
        var reply: SDBus.Message?
        let result = library.call(bus, message, try remaining(), &failure, &reply)
        guard result >= 0, let reply else { throw Self.failure(result, failure) }
        defer { _ = library.unref(reply) }
        guard let value = read(reply) else { throw .malformed }
        return value
    }

    // MARK: Signals

    /// Asks the bus for signals (D-Bus specification, "Match Rules").
    func subscribe(_ rule: String) throws(Failure) {
        let bus = "org.freedesktop.DBus"
        _ = try call(
            Call(
                destination: bus, path: "/org/freedesktop/DBus", interface: bus, member: "AddMatch", arguments: [rule]))
    }

    /// Becomes readable when something has arrived. Then, and after each call, ask for signals until there are none.
    var descriptor: CInt { library.descriptor(bus) }

    /// The next signal that has arrived; `nil` if there is none now. Does not wait.
    func nextSignal() throws(Failure) -> Signal? {
        while true {
            var message: SDBus.Message?
            let result = library.process(bus, &message)
            guard result >= 0 else { throw Self.failure(result, SDBus.Failure()) }
            if result == 0 { return nil }
            guard let message else { continue }
            defer { _ = library.unref(message) }
            guard library.isSignal(message, nil, nil) > 0, let path = library.path(message),
                let interface = library.interface(message), let member = library.member(message),
                let values = BusValue.values(of: message, library)
            else { continue }
            return Signal(
                path: String(cString: path), interface: String(cString: interface), member: String(cString: member),
                values: values)
        }
    }

    // MARK: Failures

    /// - Parameter result: negative, as sd-bus returns it.
    private static func failure(_ result: CInt, at address: String) -> Failure {
        switch -result {
        case ENOENT, ECONNREFUSED, ENOTDIR, EACCES, ECONNRESET:
            .absent("nobody answers at \(address): \(String(cString: strerror(-result)))")
        // The backlog is full: the bus does not answer.
        case ETIMEDOUT, EAGAIN: .timedOut
        default: .io(errno: -result)
        }
    }

    private static func failure(_ result: CInt, _ failure: SDBus.Failure) -> Failure {
        switch -result {
        case ETIMEDOUT: return .timedOut
        case ECONNRESET, ENOTCONN, EPIPE, ESHUTDOWN: return .hungUp
        default:
            guard let name = failure.name else { return .io(errno: -result) }
            let message = failure.message.map { ": \(String(cString: $0))" } ?? ""
            return .refused(String(cString: name) + message)
        }
    }
}

extension BusConnection.Failure: CustomStringConvertible {
    var description: String {
        switch self {
        case .absent(let what): what
        case .timedOut: "it did not answer in time"
        case .refused(let why): why
        case .hungUp: "the bus hung up"
        case .malformed: "its answer has another form than documented"
        case .io(let code): String(cString: strerror(code))
        }
    }
}
