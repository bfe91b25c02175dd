import Glibc
import TelemetryBasics

/// Where StatsD is taken in: a UDP port, or the path of a Unix datagram socket.
package struct StatsDAddress: Equatable, Sendable, CustomStringConvertible {
    enum Place: Equatable, Sendable {
        case udp(host: String, isIPv6: Bool, port: UInt16)
        case path(String)
    }

    /// A path of `sockaddr_un` with its NUL.
    private static let longestPath = 107

    let place: Place
    package let description: String

    /// - Parameters:
    ///   - text: `127.0.0.1:8125`, `[::1]:8125`, `localhost:8125` (127.0.0.1) or an absolute path.
    ///   - fromOtherMachines: other addresses are allowed, too. StatsD knows no sender and no secret, so whoever
    ///     reaches the port can write.
    /// - Throws: what is possible.
    package init(_ text: String, fromOtherMachines: Bool) throws(MetricAddressError) {
        description = text
        if text.hasPrefix("/") {
            guard text.utf8.count <= Self.longestPath, !text.utf8.contains(0) else {
                throw MetricAddressError("the path of a socket may have at most \(Self.longestPath) bytes")
            }
            place = .path(text)
            return
        }
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            throw MetricAddressError("it must be ADDRESS:PORT, such as 127.0.0.1:8125, or the path of a socket")
        }
        var host = String(text[..<colon])
        if host.lowercased() == "localhost" { host = "127.0.0.1" }
        let isIPv6 = host.hasPrefix("[") && host.hasSuffix("]")
        if isIPv6 { host = String(host.dropFirst().dropLast()) }
        var four = in_addr()
        var six = in6_addr()
        guard isIPv6 ? inet_pton(AF_INET6, host, &six) == 1 : inet_pton(AF_INET, host, &four) == 1 else {
            throw MetricAddressError("it must begin with an IP address, an IPv6 one in brackets, or localhost")
        }
        guard fromOtherMachines || LoopbackHost.contains(host) else {
            throw MetricAddressError(
                """
                others than this machine could write there, because StatsD knows no sender: give 127.0.0.1 or [::1], \
                or allow it with fromOtherMachines
                """)
        }
        place = .udp(host: host, isIPv6: isIPv6, port: port)
    }
}

/// Why an address of a source cannot be used.
package struct MetricAddressError: Error, Equatable {
    package let message: String

    init(_ message: String) { self.message = message }
}
