import CommandKit
import Foundation
import NIOCore
import NIOPosix
import TelemetryBasics
import WireModel

/// The address on which the server listens: a host name or address, and a port.
struct ListenAddress: Equatable, Sendable, CustomStringConvertible {
    let host: String
    /// 0 lets the system choose a port.
    let port: Int

    init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// Parses a text such as `127.0.0.1:8420`, `localhost:8420` or `[::1]:8420`.
    init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
            (0...65_535).contains(port)
        else { return nil }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        guard !host.isEmpty else { return nil }
        self.init(host: String(host), port: port)
    }

    /// Whether only programs on this machine can connect.
    var isLoopback: Bool { LoopbackHost.contains(host) }

    /// Listens for a moment with the server's socket option, so that open connections of a collector that has just
    /// ended do not count.
    /// - Returns: whether another program listens on this address.
    /// - Throws: the `CommandError` of `serve` if listening is not possible.
    func isInUse() async throws(CommandError) -> Bool {
        do {
            let channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .bind(host: host, port: port).get()
            try await channel.close()
            return false
        } catch {
            if let error = error as? IOError, error.errnoCode == EADDRINUSE { return true }
            throw CommandError(serving: self, error)
        }
    }

    var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
