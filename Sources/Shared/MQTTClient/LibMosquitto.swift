import CLibMosquitto
import Glibc
import Synchronization

/// The MQTT client library of Mosquitto with the OpenSSL it was linked with. It is opened when a broker is configured
/// and never closed.
///
/// A program without a configured broker needs neither.
/// `@unchecked`: the functions are written once, before any other thread sees the pointers.
struct LibMosquitto: @unchecked Sendable {
    private let functions: UnsafePointer<LibMosquittoFunctions>
    private let security: UnsafePointer<OpenSSLFunctions>

    var call: LibMosquittoFunctions { functions.pointee }
    var tls: OpenSSLFunctions { security.pointee }

    static let library = "libmosquitto.so.1"
    private static let opened = Mutex<LibMosquitto?>(nil)

    /// - Parameter name: path or name, as dlopen(3) accepts it.
    /// - Throws: `library` if it is missing, too old or lacks a function.
    static func open(_ name: String = library) throws(MQTTError) -> LibMosquitto {
        if name == library, let known = opened.withLock({ $0 }) { return known }
        guard let handle = dlopen(name, RTLD_NOW | RTLD_LOCAL) else {
            let reason = dlerror().map { String(cString: $0) } ?? "unknown reason"
            throw MQTTError(
                .library,
                "the MQTT client library cannot be opened: \(reason). Install Debian's package libmosquitto1")
        }
        let functions = UnsafeMutablePointer<LibMosquittoFunctions>.allocate(capacity: 1)
        let security = UnsafeMutablePointer<OpenSSLFunctions>.allocate(capacity: 1)
        func refuse(_ why: String) -> MQTTError {
            functions.deallocate()
            security.deallocate()
            dlclose(handle)
            return MQTTError(
                .library, "the library \(name) \(why). Install Debian's package libmosquitto1, version 2.0 or newer")
        }
        if let missing = libmosquitto_load(handle, functions) { throw refuse("lacks \(String(cString: missing))") }
        if let missing = openssl_load(handle, security) {
            throw refuse("was built without OpenSSL: it lacks \(String(cString: missing))")
        }
        var major: CInt = 0
        var minor: CInt = 0
        _ = functions.pointee.libVersion(&major, &minor, nil)
        guard major >= 2 else { throw refuse("is version \(major).\(minor)") }
        _ = functions.pointee.libInit()
        let made = LibMosquitto(functions: UnsafePointer(functions), security: UnsafePointer(security))
        return opened.withLock { known in
            // Two threads may have opened it at once; the handle is the same, and the tables are small.
            if let known { return known }
            if name == library { known = made }
            return made
        }
    }
}

/// Numbers of mosquitto.h and mqtt_protocol.h.
enum LibMosquittoNumber {
    static let optionProtocolVersion: CInt = 1
    static let optionTLSContext: CInt = 2
    static let optionTLSDefaults: CInt = 3
    static let optionReceiveMaximum: CInt = 4
    static let optionNoDelay: CInt = 11
    static let version5: CInt = 5

    static let success: CInt = 0
    static let protocolError: CInt = 2
    static let noConnection: CInt = 4
    static let connectionRefused: CInt = 5
    static let connectionLost: CInt = 7
    static let tls: CInt = 8
    static let payloadSize: CInt = 9
    static let errno: CInt = 14
    static let lookup: CInt = 15
    static let keepAlive: CInt = 19
    static let malformedPacket: CInt = 21
    static let tlsHandshake: CInt = 23
    static let qualityOfService: CInt = 24
    static let oversizePacket: CInt = 25
    static let retain: CInt = 28

    static let logError: CInt = 0x08
}

/// Identifiers of MQTT 5 properties (MQTT 5.0, 2.2.2.2).
enum PropertyNumber {
    static let messageExpiry: CInt = 2
    static let responseTopic: CInt = 8
    static let correlation: CInt = 9
    static let user: CInt = 38
    static let maximumPacket: CInt = 39
}
