import Foundation
import Glibc

/// A service's side of a connection, over sd-bus(3) like the client's side. For one thread at a time.
final class BusServiceConnection {
    private let sdbus: Functions
    private let bus: OpaquePointer

    /// Connects and owns the name.
    init(_ name: String, _ address: String) throws {
        sdbus = try Functions()
        var made: OpaquePointer?
        guard sdbus.new(&made) >= 0, let made else { throw BusTestFailure(what: "sd_bus_new") }
        bus = made
        guard sdbus.setAddress(bus, address) >= 0, sdbus.setBusClient(bus, 1) >= 0, sdbus.start(bus) >= 0 else {
            throw BusTestFailure(what: "no connection to \(address)")
        }
        guard sdbus.requestName(bus, name, 0) >= 0 else {
            throw BusTestFailure(what: "the bus did not give the name \(name)")
        }
    }

    deinit { _ = sdbus.closeUnref(bus) }

    /// Answers the calls that have arrived, then waits a moment for others.
    /// - Returns: `false` once the connection is lost.
    func serve(_ answer: (ScriptedBusService.Call) -> ScriptedBusService.Answer) -> Bool {
        while true {
            var message: OpaquePointer?
            let result = sdbus.process(bus, &message)
            guard result >= 0 else { return false }
            if result == 0 { break }
            guard let message else { continue }
            defer { _ = sdbus.unref(message) }
            guard sdbus.isCall(message, nil, nil) > 0, let path = sdbus.path(message),
                let member = sdbus.member(message)
            else { continue }
            var arguments: [String] = []
            var text: UnsafePointer<CChar>?
            while sdbus.read(message, Self.type("s"), &text) > 0, let text { arguments.append(String(cString: text)) }
            let call = ScriptedBusService.Call(
                path: String(cString: path), member: String(cString: member), arguments: arguments)
            reply(to: message, answer(call))
        }
        let waited = sdbus.wait(bus, 10_000)
        return waited >= 0 || waited == -EINTR
    }

    private func reply(to call: OpaquePointer, _ answer: ScriptedBusService.Answer) {
        var message: OpaquePointer?
        switch answer {
        case .silence: return
        case .error(let name):
            name.withCString { name in
                var error = Functions.BusError(name: name)
                _ = sdbus.newError(call, &message, &error)
            }
        case .values(let values):
            _ = sdbus.newReturn(call, &message)
            if let message { for value in values { append(value, to: message) } }
        }
        send(message)
    }

    func send(_ path: String, _ interface: String, _ member: String, _ values: [BusContent]) {
        var message: OpaquePointer?
        _ = sdbus.newSignal(bus, &message, path, interface, member)
        if let message { for value in values { append(value, to: message) } }
        send(message)
    }

    private func send(_ message: OpaquePointer?) {
        guard let message else { preconditionFailure("sd-bus made no message") }
        _ = sdbus.send(bus, message, nil)
        _ = sdbus.unref(message)
    }

    private static func type(_ type: Unicode.Scalar) -> CChar { CChar(truncatingIfNeeded: type.value) }

    private func append(_ value: BusContent, to message: OpaquePointer) {
        func basic<Value: BitwiseCopyable>(_ type: Unicode.Scalar, _ value: Value) {
            var value = value
            precondition(sdbus.append(message, Self.type(type), &value) >= 0)
        }
        func container(_ type: Unicode.Scalar, _ contents: String, _ values: [BusContent]) {
            precondition(sdbus.open(message, Self.type(type), contents) >= 0)
            for value in values { append(value, to: message) }
            precondition(sdbus.close(message) >= 0)
        }
        switch value {
        // A text is handed over by its own address.
        case .text(let text): _ = text.withCString { sdbus.append(message, Self.type("s"), $0) }
        case .path(let path): _ = path.withCString { sdbus.append(message, Self.type("o"), $0) }
        case .number(let number): basic("u", number)
        case .boolean(let isTrue): basic("b", CInt(isTrue ? 1 : 0))
        case .descriptor(let descriptor):
            basic("h", descriptor)
            Glibc.close(descriptor)
        case .variant(let value): container("v", value.signature, [value])
        case .structure(let members): container("r", members.map(\.signature).joined(), members)
        case .array(let element, let values): container("a", element, values)
        case .entry(let key, let value): container("e", key.signature + value.signature, [key, value])
        }
    }
}

extension BusServiceConnection {
    private struct Functions {
        typealias Pointer = OpaquePointer
        typealias Made = UnsafeMutablePointer<OpaquePointer?>
        typealias Text = UnsafePointer<CChar>

        /// `sd_bus_error`.
        struct BusError {
            var name: Text?
            var message: Text?
            var mustBeFreed: CInt = 0
        }

        let new: @convention(c) (Made) -> CInt
        let setAddress: @convention(c) (Pointer, Text) -> CInt
        let setBusClient: @convention(c) (Pointer, CInt) -> CInt
        let start: @convention(c) (Pointer) -> CInt
        let requestName: @convention(c) (Pointer, Text, UInt64) -> CInt
        let closeUnref: @convention(c) (Pointer) -> Pointer?
        let process: @convention(c) (Pointer, Made) -> CInt
        let wait: @convention(c) (Pointer, UInt64) -> CInt
        let send: @convention(c) (Pointer, Pointer, UnsafeMutablePointer<UInt64>?) -> CInt
        let newReturn: @convention(c) (Pointer, Made) -> CInt
        let newError: @convention(c) (Pointer, Made, UnsafeRawPointer) -> CInt
        let newSignal: @convention(c) (Pointer, Made, Text, Text, Text) -> CInt
        let unref: @convention(c) (Pointer) -> Pointer?
        let isCall: @convention(c) (Pointer, Text?, Text?) -> CInt
        let path: @convention(c) (Pointer) -> Text?
        let member: @convention(c) (Pointer) -> Text?
        let read: @convention(c) (Pointer, CChar, UnsafeMutableRawPointer) -> CInt
        let append: @convention(c) (Pointer, CChar, UnsafeRawPointer) -> CInt
        let open: @convention(c) (Pointer, CChar, Text) -> CInt
        let close: @convention(c) (Pointer) -> CInt

        init() throws {
            guard let library = dlopen("libsystemd.so.0", RTLD_NOW) else {
                throw BusTestFailure(what: "Debian's package libsystemd0 is missing; Tools/test installs it")
            }
            func function<Function>(_ name: String) throws -> Function {
                guard let address = dlsym(library, name) else { throw BusTestFailure(what: "libsystemd lacks \(name)") }
                return unsafeBitCast(address, to: Function.self)
            }
            new = try function("sd_bus_new")
            setAddress = try function("sd_bus_set_address")
            setBusClient = try function("sd_bus_set_bus_client")
            start = try function("sd_bus_start")
            requestName = try function("sd_bus_request_name")
            closeUnref = try function("sd_bus_close_unref")
            process = try function("sd_bus_process")
            wait = try function("sd_bus_wait")
            send = try function("sd_bus_send")
            newReturn = try function("sd_bus_message_new_method_return")
            newError = try function("sd_bus_message_new_method_error")
            newSignal = try function("sd_bus_message_new_signal")
            unref = try function("sd_bus_message_unref")
            isCall = try function("sd_bus_message_is_method_call")
            path = try function("sd_bus_message_get_path")
            member = try function("sd_bus_message_get_member")
            read = try function("sd_bus_message_read_basic")
            append = try function("sd_bus_message_append_basic")
            open = try function("sd_bus_message_open_container")
            close = try function("sd_bus_message_close_container")
        }
    }
}
