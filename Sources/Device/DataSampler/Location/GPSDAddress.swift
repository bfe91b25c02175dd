import Glibc

/// Where gpsd listens: a TCP port of this machine, or a Unix socket. gpsd protects neither positions nor its commands
/// on a network, so another machine is refused.
struct GPSDAddress: Equatable, Sendable, CustomStringConvertible {
    enum Place: Equatable, Sendable {
        /// 127.0.0.1 or ::1.
        case loopback(isIPv6: Bool, port: UInt16)
        case path(String)
    }

    static let standard = "127.0.0.1:2947"
    /// A path of `sockaddr_un` with its NUL.
    static let longestPath = 107

    let place: Place
    let description: String

    /// - Parameter text: `127.0.0.1:PORT`, `[::1]:PORT`, `localhost:PORT` (127.0.0.1) or an absolute path.
    /// - Throws: `invalidConfiguration` that says what is possible.
    init(_ text: String) throws(DataSamplerError) {
        description = text
        if text.hasPrefix("/") {
            guard text.utf8.count <= Self.longestPath, !text.utf8.contains(0) else {
                throw DataSamplerError(
                    .invalidConfiguration,
                    "gpsd '\(text.prefix(200))' is no path of a socket: it may have at most \(Self.longestPath) bytes")
            }
            place = .path(text)
            return
        }
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]), port > 0 else {
            throw DataSamplerError(
                .invalidConfiguration,
                "gpsd '\(text.prefix(200))' has no port: give \(Self.standard), or the path of gpsd's socket")
        }
        switch text[..<colon].lowercased() {
        case "127.0.0.1", "localhost": place = .loopback(isIPv6: false, port: port)
        case "[::1]": place = .loopback(isIPv6: true, port: port)
        default:
            throw DataSamplerError(
                .invalidConfiguration,
                """
                gpsd '\(text.prefix(200))' is not on this machine: gpsd does not encrypt. Give \(Self.standard), \
                [::1]:2947 or the path of a Unix socket; for another machine forward its port with a tunnel that \
                encrypts
                """
            )
        }
    }

    /// Opens a connection. It blocks for as long as the socket's send time-out.
    /// - Parameter timeout: of each write, and of connecting.
    /// - Returns: the descriptor, or the error number.
    func connect(timeout: timeval) -> Result<Int32, SystemErrorNumber> {
        switch place {
        case .path(let path):
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8).prefix($0.count - 1)) }
            return Self.connect(AF_UNIX, address, timeout)
        case .loopback(isIPv6: false, let port):
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            return Self.connect(AF_INET, address, timeout)
        case .loopback(isIPv6: true, let port):
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            address.sin6_addr = in6addr_loopback
            return Self.connect(AF_INET6, address, timeout)
        }
    }

    private static func connect<Address>(
        _ family: Int32, _ address: Address, _ timeout: timeval
    ) -> Result<Int32, SystemErrorNumber> {
        let descriptor = socket(family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return .failure(SystemErrorNumber(number: errno)) }
        var timeout = timeout
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        let result = withUnsafeBytes(of: address) { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) {
                Glibc.connect(descriptor, $0.baseAddress, socklen_t(bytes.count))
            }
        }
        guard result != 0 else { return .success(descriptor) }
        let number = errno
        close(descriptor)
        return .failure(SystemErrorNumber(number: number))
    }
}

/// `errno`.
struct SystemErrorNumber: Error, Equatable {
    var number: Int32

    var text: String { String(cString: strerror(number)) }
}
