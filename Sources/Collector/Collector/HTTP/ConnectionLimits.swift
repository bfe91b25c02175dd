import Foundation
import Logging
import NIOCore
import Synchronization

/// How long a client may take and how much it may send after a refusal. All bounds are per connection.
package struct ConnectionLimits: Sendable, Equatable {
    /// From connecting (TLS handshake included) to the end of the first request's header, seconds.
    package var firstHeadSeconds: Int64
    /// From one answer to the end of the next request's header, seconds.
    package var idleSeconds: Int64
    /// From a request's header to its last byte, seconds: a body that trickles is refused with 408.
    package var bodySeconds: Int64
    /// How long a body may come as slowly as it likes, seconds; then it must have come at `bodyLeastBytesPerSecond`, or
    /// is refused with 408 long before `bodySeconds`: who sends two bytes and stops holds nothing for long.
    package var bodyGraceSeconds: Int64
    /// Less than the slowest of cellular networks carries.
    package var bodyLeastBytesPerSecond: Int64
    /// From a request's last byte to its answer's, or from one part of a long answer to the next, seconds: a client
    /// that does not read is cut off.
    package var answerSeconds: Int64
    /// How long a connection stays half open after a refusal, so that the answer is not lost to a reset, seconds.
    package var lingerSeconds: Int64
    /// How much unread body is thrown away meanwhile, bytes.
    package var lingerBytes: Int
    /// Connections accepted at a time; the rest wait in the kernel's backlog.
    package var connections: Int
    /// Of these, those that one address may have open; further ones are closed at once. `nil`: half of them, and no
    /// limit for addresses of this machine.
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

/// How many of the connections one address may have open, so that a client which opens thousands keeps nobody else out.
///
/// An IPv6 address counts with its /64 network: that is what one machine or one household is given. Safe from any
/// thread.
final class ConnectionShares: Sendable {
    /// Those who share connections.
    struct Address: Hashable {
        fileprivate let bytes: [UInt8]
        let isLoopback: Bool

        /// `nil` for a socket that has no such address.
        init?(_ address: SocketAddress?) {
            guard let address else { return nil }
            switch address {
            case .v4(let address): self.init(v4: withUnsafeBytes(of: address.address.sin_addr) { Array($0) })
            case .v6(let address):
                let bytes = withUnsafeBytes(of: address.address.sin6_addr) { Array($0) }
                // As a socket that takes both kinds shows an IPv4 address.
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

        private init(v4 bytes: [UInt8]) {
            self.init(bytes: bytes, isLoopback: bytes[0] == 127)
        }

        private init(bytes: [UInt8], isLoopback: Bool) {
            self.bytes = bytes
            self.isLoopback = isLoopback
        }
    }

    private struct State {
        var open: [Address: Int] = [:]
        var lastTold: Int64?
    }

    private static let secondsBetweenLines: Int64 = 60

    private let limits: ConnectionLimits
    private let logger: Logger
    private let state = Mutex(State())

    init(_ limits: ConnectionLimits, logger: Logger) {
        self.limits = limits
        self.logger = logger
    }

    /// Counts a connection that was accepted. - Returns: `false` where its address has its share already; it is not
    /// counted then.
    func take(_ address: Address, now: Int64 = Uptime.microseconds()) -> Bool {
        guard let limit = limits.limit(of: address) else { return true }
        let (isTaken, isTold) = state.withLock { state in
            let open = state.open[address, default: 0]
            guard open >= limit else {
                state.open[address] = open + 1
                return (true, false)
            }
            // One line a minute, whoever is refused.
            if let lastTold = state.lastTold, now - lastTold < Self.secondsBetweenLines * 1_000_000 {
                return (false, false)
            }
            state.lastTold = now
            return (false, true)
        }
        if isTold {
            logger.warning(
                "connections refused: one address has its share of them open (maximum-connections-per-address)",
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

    /// Addresses that are remembered: those with a connection.
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
    /// Connections that an address may have open; `nil`: as many as there are.
    fileprivate func limit(of address: ConnectionShares.Address) -> Int? {
        if let connectionsPerAddress { return connectionsPerAddress }
        // A proxy on this machine brings everybody's connections from there.
        return address.isLoopback ? nil : max(1, connections / 2)
    }
}
