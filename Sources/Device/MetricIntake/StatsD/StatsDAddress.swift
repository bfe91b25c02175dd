import ListeningSockets

/// Where StatsD is taken in: a UDP port, or the path of a Unix datagram socket.
package struct StatsDAddress: Equatable, Sendable, CustomStringConvertible {
    let place: SocketAddress
    package let description: String

    /// - Parameters:
    ///   - text: `127.0.0.1:8125`, `[::1]:8125`, `localhost:8125` (127.0.0.1) or an absolute path.
    ///   - fromOtherMachines: other addresses are allowed, too. StatsD knows no sender and no secret, so whoever
    ///     reaches the port can write.
    /// - Throws: what is possible.
    package init(_ text: String, fromOtherMachines: Bool) throws(MetricAddressError) {
        guard let place = SocketAddress(text) else {
            throw MetricAddressError(
                """
                it must be ADDRESS:PORT, such as 127.0.0.1:8125 or [::1]:8125, or an absolute path of at most \
                \(SocketAddress.longestPath) bytes
                """)
        }
        guard fromOtherMachines || place.isLocal else {
            throw MetricAddressError(
                """
                others than this machine could write there, because StatsD knows no sender: give 127.0.0.1 or [::1], \
                or allow it with fromOtherMachines
                """)
        }
        self.place = place
        description = text
    }
}

/// Why an address of a source cannot be used.
package struct MetricAddressError: Error, Equatable {
    package let message: String

    init(_ message: String) { self.message = message }
}
