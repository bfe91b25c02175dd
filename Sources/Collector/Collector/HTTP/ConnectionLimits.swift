import Foundation
import Logging
import NIOCore
import Synchronization

/// Limits of one connection: how long a client may need, and how much it may send after a refusal.
package struct ConnectionLimits: Sendable, Equatable {
    /// Seconds from connecting, including the TLS handshake, to the end of the first request's header.
    package var firstHeadSeconds: Int64
    /// Seconds from an answer to the end of the next request's header.
    package var idleSeconds: Int64
    /// Seconds from a request's header to its last byte. A slower body is refused with 408.
    package var bodySeconds: Int64
    /// Seconds during which a body may arrive at any pace. After that it must have arrived at
    /// `bodyLeastBytesPerSecond`, or it is refused with 408 long before `bodySeconds`. A client that sends two bytes
    /// and stops is thus refused early.
    package var bodyGraceSeconds: Int64
    /// Less than the slowest cellular networks provide.
    package var bodyLeastBytesPerSecond: Int64
    /// Seconds from a request's last byte to the last of its answer, or between two parts of a long answer. A client
    /// that does not read is disconnected.
    package var answerSeconds: Int64
    /// Seconds a connection stays half open after a refusal, so a reset does not destroy the answer.
    package var lingerSeconds: Int64
    /// Bytes of unread body that are discarded in that time.
    package var lingerBytes: Int
    /// The most connections. Others wait in the kernel's backlog.
    package var connections: Int
    /// The most connections of one address. Others are closed at once. `nil`: half of all, and no limit for addresses
    /// of this machine.
    package var connectionsPerAddress: Int?

    package init(
        firstHeadSeconds: Int64 = 15, idleSeconds: Int64 = 75, bodySeconds: Int64 = 120, bodyGraceSeconds: Int64 = 10,
        bodyLeastBytesPerSecond: Int64 = 1024, answerSeconds: Int64 = 60, lingerSeconds: Int64 = 2,
        lingerBytes: Int = 1024 * 1024, connections: Int = 2048, connectionsPerAddress: Int? = nil
    ) {
        self.firstHeadSeconds = firstHeadSeconds
        self.idleSeconds = idleSeconds
        self.bodySeconds = bodySeconds
        self.bodyGraceSeconds = bodyGraceSeconds
        self.bodyLeastBytesPerSecond = bodyLeastBytesPerSecond
        self.answerSeconds = answerSeconds
        self.lingerSeconds = lingerSeconds
        self.lingerBytes = lingerBytes
        self.connections = connections
        self.connectionsPerAddress = connectionsPerAddress
    }
}

/// Limits the connections of one address, so a client that opens thousands does not lock others out.
///
/// An IPv6 address counts with its /64 network, which is what one machine or household receives. Safe from any thread.
final class ConnectionShares: Sendable {
    /// The unit that shares connections.
    struct Address: Hashable {
        fileprivate let bytes: [UInt8]
        let isLoopback: Bool

        /// `nil` for a socket without such an address.
        init?(_ address: SocketAddress?) {
            guard let address else { return nil }
            switch address {
            case .v4(let address): self.init(v4: withUnsafeBytes(of: address.address.sin_addr) { Array($0) })
            case .v6(let address):
                let bytes = withUnsafeBytes(of: address.address.sin6_addr) { Array($0) }
                // The form in which a dual-stack socket shows an IPv4 address.
                if bytes.starts(with: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]) {
                    self.init(v4: Array(bytes[12...]))
                } else {
                    self.init(
                        bytes: Array(bytes.prefix(8)),
                        isLoopback: bytes.dropLast().allSatisfy { $0 == 0 } && bytes[15] == 1)
                }
            case .unixDomainSocket: return nil
            }
        }

        private init(v4 bytes: [UInt8]) { self.init(bytes: bytes, isLoopback: bytes[0] == 127) }

        private init(bytes: [UInt8], isLoopback: Bool) {
            self.bytes = bytes
            self.isLoopback = isLoopback
        }
    }

    private struct State {
        var open: [Address: Int] = [:]
        var lastReported: Int64?
    }

    private static let secondsBetweenLines: Int64 = 60

    private let limits: ConnectionLimits
    private let logger: Logger
    private let state = Mutex(State())

    init(_ limits: ConnectionLimits, logger: Logger) {
        self.limits = limits
        self.logger = logger
    }

    /// Counts an accepted connection. - Returns: `false` if the address already has its share; then it is not counted.
    func acquire(_ address: Address, now: Int64 = Uptime.microseconds()) -> Bool {
        guard let limit = limits.limit(of: address) else { return true }
        let (isTaken, isReported) = state.withLock { state in
            let open = state.open[address, default: 0]
            guard open >= limit else {
                state.open[address] = open + 1
                return (true, false)
            }
            // One line per minute, whoever is refused.
            if let lastReported = state.lastReported, now - lastReported < Self.secondsBetweenLines * 1_000_000 {
                return (false, false)
            }
            state.lastReported = now
            return (false, true)
        }
        if isReported {
            logger.warning(
                "connections refused: one address has too many open (maximum-connections-per-address)",
                metadata: ["address": "\(address)", "connections": "\(limit)"])
        }
        return isTaken
    }

    func giveBack(_ address: Address) {
        guard limits.limit(of: address) != nil else { return }
        state.withLock { state in
            guard let open = state.open[address] else { return }
            state.open[address] = open > 1 ? open - 1 : nil
        }
    }

    /// The number of addresses with a connection.
    var count: Int { state.withLock { $0.open.count } }
}

extension ConnectionShares.Address: CustomStringConvertible {
    var description: String {
        guard bytes.count == 8 else { return bytes.map { "\($0)" }.joined(separator: ".") }
        let groups = stride(from: 0, to: 8, by: 2).map {
            String(UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]), radix: 16)
        }
        return groups.joined(separator: ":") + "::/64"
    }
}

extension ConnectionLimits {
    /// The most connections of an address; `nil` for no limit of its own.
    fileprivate func limit(of address: ConnectionShares.Address) -> Int? {
        if let connectionsPerAddress { return connectionsPerAddress }
        // A proxy on this machine brings everybody's connections.
        return address.isLoopback ? nil : max(1, connections / 2)
    }
}
