import Dispatch
import FoundationEssentials
import Glibc
import NIOCore
import NIOPosix
import WireModel

/// The first links of a connection, each tried by itself: whether a name has addresses, and whether somebody accepts
/// connections there. Nothing is sent. For commands that look for a fault; safe from any task.
package struct ConnectionProbe: Sendable {
    /// A name or an IP address.
    package let host: String
    package let port: Int
    /// Host and port in error messages, as ``ConnectionSettings/peer``.
    package let peer: String
    /// Whether the host is a proxy on the way.
    package let isProxied: Bool

    package init(host: String, port: Int, peer: String, isProxied: Bool = false) {
        self.host = host
        self.port = port
        self.peer = peer
        self.isProxied = isProxied
    }

    /// The host that this machine connects to first: the proxy if there is one.
    package init(_ settings: ConnectionSettings) {
        let first = settings.proxy ?? settings.collector
        self.init(host: first.host, port: first.port, peer: settings.peer, isProxied: settings.proxy != nil)
    }

    /// The addresses of the host, each once, in the system's order. It blocks a thread of its own, for as long as the
    /// system's resolver tries.
    /// - Throws: `nameResolution`.
    package func addresses() async throws(TransportError) -> [String] {
        let result = await withCheckedContinuation { continuation in
            DispatchQueue(label: "ws1.name-lookup").async {
                continuation.resume(returning: Result { () throws(TransportError) in try lookUp() })
            }
        }
        return try result.get()
    }

    /// Makes a connection and closes it.
    /// - Throws: the same errors as a request's connection.
    package func connect(within limit: Duration) async throws(TransportError) {
        do {
            let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connectTimeout(TimeAmount(limit)).connect(host: host, port: port).get()
            try? await channel.close()
        } catch { throw TransportError(cause: error, peer: peer, isProxied: isProxied) }
    }

    private func lookUp() throws(TransportError) -> [String] {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, "\(port)", &hints, &list)
        guard code == 0 else {
            throw TransportError.notResolved(
                peer, code == EAI_SYSTEM ? Self.systemText : String(cString: gai_strerror(code)))
        }
        defer { freeaddrinfo(list) }
        var found: [String] = []
        var next = list
        while let entry = next {
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            let length = entry.pointee.ai_addrlen
            if getnameinfo(entry.pointee.ai_addr, length, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0 {
                let address = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
                if !found.contains(address) { found.append(address) }
            }
            next = entry.pointee.ai_next
        }
        return found
    }

    private static var systemText: String { String(cString: strerror(errno)) }
}
