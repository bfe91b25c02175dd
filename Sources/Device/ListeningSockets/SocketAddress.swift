import Glibc
import TelemetryBasics

/// Where programs reach the agent: the path of a Unix socket, or an address of IPv4 or IPv6 with a port.
package enum SocketAddress: Equatable, Sendable, CustomStringConvertible {
    case path(String)
    /// An address, without brackets.
    case internet(host: String, port: UInt16)

    /// The longest path, because `sockaddr_un` has 108 bytes with a zero.
    package static let longestPath = 107

    /// Reads an absolute path, `127.0.0.1:5514`, `[::1]:5514` or `localhost:5514`, which is 127.0.0.1.
    /// - Returns: `nil` for what is none. Names are none, because they may lead elsewhere at the next look-up.
    package init?(_ text: String) {
        if text.hasPrefix("/") {
            guard text.utf8.count <= Self.longestPath, !text.utf8.contains(0) else { return nil }
            self = .path(text)
            return
        }
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            return nil
        }
        var host = String(text[..<colon])
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        if isBracketed { host = String(host.dropFirst().dropLast()) }
        guard host.contains(":") == isBracketed else { return nil }
        if host.lowercased() == "localhost" { host = "127.0.0.1" }
        self = .internet(host: host, port: port)
        if system == nil { return nil }
    }

    /// Only programs of this machine reach it.
    package var isLocal: Bool {
        switch self {
        case .path: true
        case .internet(let host, _): LoopbackHost.contains(host)
        }
    }

    package var description: String {
        switch self {
        case .path(let path): path
        case .internet(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        }
    }

    /// As the system has it; `nil` if the host is no address.
    package var system: (bytes: [UInt8], family: Int32)? {
        switch self {
        case .path(let path):
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8).prefix($0.count - 1)) }
            return (withUnsafeBytes(of: address) { Array($0) }, AF_UNIX)
        case .internet(let host, let port):
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
    }

    /// Calls `bind` or `connect` with an address of ``system``.
    package static func call(_ address: [UInt8], _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        address.withUnsafeBytes { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) { body($0.baseAddress!, socklen_t(bytes.count)) }
        }
    }
}
