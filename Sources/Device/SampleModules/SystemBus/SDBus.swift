import Glibc

/// The functions of sd-bus(3) that we use, the D-Bus client of libsystemd.
///
/// The library is opened at run time, so the program also starts where it is missing. None of the functions is
/// variadic, because Swift cannot call such a function through a pointer. A connection and its messages belong to one
/// thread at a time.
struct SDBus: Sendable {
    typealias Bus = OpaquePointer
    typealias Message = OpaquePointer
    typealias Text = UnsafePointer<CChar>

    /// `sd_bus_error`, two texts and a flag.
    struct Failure {
        var name: Text?
        var message: Text?
        var mustBeFreed: CInt = 0
    }

    /// elogind, logind for machines without systemd, has the same functions.
    static let libraries = ["libsystemd.so.0", "libelogind.so.0"]
    /// `nil` if the machine has none of the libraries.
    static let shared: SDBus? = libraries.lazy.compactMap { SDBus(library: $0) }.first

    let new: @convention(c) @Sendable (UnsafeMutablePointer<Bus?>) -> CInt
    let setAddress: @convention(c) @Sendable (Bus, Text) -> CInt
    let setBusClient: @convention(c) @Sendable (Bus, CInt) -> CInt
    let start: @convention(c) @Sendable (Bus) -> CInt
    let isReady: @convention(c) @Sendable (Bus) -> CInt
    let closeUnref: @convention(c) @Sendable (Bus) -> Bus?
    let descriptor: @convention(c) @Sendable (Bus) -> CInt
    let process: @convention(c) @Sendable (Bus, UnsafeMutablePointer<Message?>?) -> CInt
    let wait: @convention(c) @Sendable (Bus, UInt64) -> CInt
    let call:
        @convention(c) @Sendable (
            Bus, Message, UInt64, UnsafeMutableRawPointer, UnsafeMutablePointer<Message?>
        ) -> CInt
    let freeError: @convention(c) @Sendable (UnsafeMutableRawPointer) -> Void

    let newCall:
        @convention(c) @Sendable (
            Bus, UnsafeMutablePointer<Message?>, Text?, Text, Text?, Text
        ) -> CInt
    let unref: @convention(c) @Sendable (Message) -> Message?
    let setAutoStart: @convention(c) @Sendable (Message, CInt) -> CInt
    let append: @convention(c) @Sendable (Message, CChar, UnsafeRawPointer) -> CInt
    let isSignal: @convention(c) @Sendable (Message, Text?, Text?) -> CInt
    let path: @convention(c) @Sendable (Message) -> Text?
    let interface: @convention(c) @Sendable (Message) -> Text?
    let member: @convention(c) @Sendable (Message) -> Text?
    let peek: @convention(c) @Sendable (Message, UnsafeMutablePointer<CChar>, UnsafeMutablePointer<Text?>) -> CInt
    let read: @convention(c) @Sendable (Message, CChar, UnsafeMutableRawPointer) -> CInt
    let enter: @convention(c) @Sendable (Message, CChar, Text?) -> CInt
    let exit: @convention(c) @Sendable (Message) -> CInt
    let skip: @convention(c) @Sendable (Message, Text?) -> CInt

    /// - Returns: `nil` if the library is missing or lacks a function.
    private init?(library name: String) {
        guard let library = dlopen(name, RTLD_LAZY | RTLD_LOCAL) else { return nil }
        func function<Function>(_ name: String) throws(Missing) -> Function {
            guard let address = dlsym(library, name) else { throw Missing() }
            return unsafeBitCast(address, to: Function.self)
        }
        do throws(Missing) {
            new = try function("sd_bus_new")
            setAddress = try function("sd_bus_set_address")
            setBusClient = try function("sd_bus_set_bus_client")
            start = try function("sd_bus_start")
            isReady = try function("sd_bus_is_ready")
            closeUnref = try function("sd_bus_close_unref")
            descriptor = try function("sd_bus_get_fd")
            process = try function("sd_bus_process")
            wait = try function("sd_bus_wait")
            call = try function("sd_bus_call")
            freeError = try function("sd_bus_error_free")
            newCall = try function("sd_bus_message_new_method_call")
            unref = try function("sd_bus_message_unref")
            setAutoStart = try function("sd_bus_message_set_auto_start")
            append = try function("sd_bus_message_append_basic")
            isSignal = try function("sd_bus_message_is_signal")
            path = try function("sd_bus_message_get_path")
            interface = try function("sd_bus_message_get_interface")
            member = try function("sd_bus_message_get_member")
            peek = try function("sd_bus_message_peek_type")
            read = try function("sd_bus_message_read_basic")
            enter = try function("sd_bus_message_enter_container")
            exit = try function("sd_bus_message_exit_container")
            skip = try function("sd_bus_message_skip")
        } catch {
            return nil
        }
    }

    private struct Missing: Error {}
}
