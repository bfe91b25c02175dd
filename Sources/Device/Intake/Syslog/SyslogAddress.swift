import ListeningSockets

/// Where messages of syslog are received.
package struct SyslogAddress: Equatable, Sendable {
    let place: SocketAddress
    let kind: ListeningSocket.Kind

    /// A datagram socket with this path.
    package static func local(_ path: String) -> Self { .init(place: .path(path), kind: .datagrams) }

    /// - Parameter host: an address of IPv4 or IPv6, without brackets.
    package static func udp(host: String, port: UInt16) -> Self {
        .init(place: .internet(host: host, port: port), kind: .datagrams)
    }

    /// - Parameter host: an address of IPv4 or IPv6, without brackets.
    package static func tcp(host: String, port: UInt16) -> Self {
        .init(place: .internet(host: host, port: port), kind: .connections)
    }

    /// In words for people.
    var text: String {
        switch (place, kind) {
        case (.path, _): "\(place)"
        case (.internet, .datagrams): "UDP \(place)"
        case (.internet, .connections): "TCP \(place)"
        }
    }

    /// - Throws: ``IntakeFailure`` if others have the address, or the system refuses it.
    func open() throws(IntakeFailure) -> ListeningSocket {
        do throws(ListenFailure) {
            return try ListeningSocket(place, kind, bufferBytes: Self.bufferBytes)
        } catch {
            throw IntakeFailure("syslog cannot be received at \(text): \(error)")
        }
    }

    private static let bufferBytes: Int32 = 1 << 20
}
