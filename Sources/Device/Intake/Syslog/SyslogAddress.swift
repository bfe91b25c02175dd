import Glibc
import TelemetryBasics

/// Where messages of syslog are received.
package enum SyslogAddress: Equatable, Sendable {
    /// A datagram socket with this path.
    case local(String)
    /// An address of IPv4 or IPv6, without brackets.
    case udp(host: String, port: UInt16)
    case tcp(host: String, port: UInt16)

    /// The longest path, because `sockaddr_un` has 108 bytes with a zero.
    package static let pathBytes = 107

    /// Reads `127.0.0.1:5514`, `[::1]:5514` or `localhost:5514`.
    /// - Returns: `nil` for what is none. Names are none, because they may lead elsewhere at the next look-up.
    package static func parse(_ text: String) -> (host: String, port: UInt16)? {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]), port > 0
        else { return nil }
        var host = String(text[..<colon])
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = String(host.dropFirst().dropLast())
            guard host.contains(":") else { return nil }
        } else {
            guard !host.contains(":") else { return nil }
        }
        if host == "localhost" { host = "127.0.0.1" }
        guard socketAddress(host, port) != nil else { return nil }
        return (host, port)
    }

    /// In words for people.
    var text: String {
        switch self {
        case .local(let path): path
        case .udp(let host, let port): "\(host) UDP port \(port)"
        case .tcp(let host, let port): "\(host) TCP port \(port)"
        }
    }

    /// - Returns: a descriptor that does not wait.
    /// - Throws: ``IntakeFailure`` if others have the address, or the system refuses it.
    func open() throws(IntakeFailure) -> Int32 {
        let isStream = if case .tcp = self { true } else { false }
        let address: (bytes: [UInt8], family: Int32)
        switch self {
        case .local(let path):
            try Self.removeStale(path)
            address = (Self.localAddress(path), AF_UNIX)
        case .udp(let host, let port), .tcp(let host, let port):
            guard let found = Self.socketAddress(host, port) else { throw IntakeFailure("\(host) is no address") }
            address = found
        }
        let type = Int32(isStream ? SOCK_STREAM.rawValue : SOCK_DGRAM.rawValue)
        let descriptor = socket(
            address.family, type | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        guard descriptor >= 0 else { throw failure(errno) }
        var yes: Int32 = 1
        let length = socklen_t(MemoryLayout<Int32>.size)
        // A port that was just left may be taken again.
        if isStream { setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, length) }
        if address.family == AF_INET6 { setsockopt(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &yes, length) }
        // What the kernel drops is told with the next datagram.
        if !isStream { setsockopt(descriptor, SOL_SOCKET, Self.dropCount, &yes, length) }
        var room = Self.receiveBytes
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &room, length)
        let isBound = Self.call(address.bytes) { bind(descriptor, $0, $1) } == 0
        guard isBound, !isStream || listen(descriptor, Self.backlog) == 0 else {
            let error = errno
            close(descriptor)
            throw failure(error)
        }
        if case .local(let path) = self {
            // Programs of every user write into it, as into /dev/log. Who shall not is kept out by the directory.
            chmod(path, 0o666)
        }
        return descriptor
    }

    /// `SO_RXQ_OVFL` of Linux.
    static let dropCount: Int32 = 40
    /// Bytes that wait in the kernel. It gives less where `net.core.rmem_max` says so.
    private static let receiveBytes: Int32 = 1 << 20
    private static let backlog: Int32 = 64

    private func failure(_ error: Int32) -> IntakeFailure {
        let remedy =
            switch error {
            case EACCES where isLowPort: "; ports below 1024 need CAP_NET_BIND_SERVICE"
            case EACCES, ENOENT, EROFS: "; the directory must be there and belong to the agent (RuntimeDirectory=)"
            case EADDRINUSE: "; another program has it"
            default: ""
            }
        return IntakeFailure("syslog cannot be received at \(text): \(FileError.words(error))\(remedy)")
    }

    private var isLowPort: Bool {
        switch self {
        case .local: false
        case .udp(_, let port), .tcp(_, let port): port < 1024
        }
    }

    /// Removes a socket that a dead process left. One that somebody reads stays.
    private static func removeStale(_ path: String) throws(IntakeFailure) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            throw IntakeFailure("syslog cannot be received at \(path): a file is there that is no socket; remove it")
        }
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        let isAlive = call(localAddress(path)) { connect(descriptor, $0, $1) } == 0
        guard !isAlive, errno == ECONNREFUSED else {
            throw IntakeFailure("syslog cannot be received at \(path): another program has it")
        }
        unlink(path)
    }

    static func localAddress(_ path: String) -> [UInt8] {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8).prefix($0.count - 1)) }
        return withUnsafeBytes(of: address) { Array($0) }
    }

    static func socketAddress(_ host: String, _ port: UInt16) -> (bytes: [UInt8], family: Int32)? {
        var four = sockaddr_in()
        if inet_pton(AF_INET, host, &four.sin_addr) == 1 {
            four.sin_family = sa_family_t(AF_INET)
            four.sin_port = port.bigEndian
            return (withUnsafeBytes(of: four) { Array($0) }, AF_INET)
        }
        var six = sockaddr_in6()
        guard inet_pton(AF_INET6, host, &six.sin6_addr) == 1 else { return nil }
        six.sin6_family = sa_family_t(AF_INET6)
        six.sin6_port = port.bigEndian
        return (withUnsafeBytes(of: six) { Array($0) }, AF_INET6)
    }

    /// Calls with an address as C has it.
    static func call(_ address: [UInt8], _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        address.withUnsafeBytes { body($0.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t($0.count)) }
    }
}
