import FoundationEssentials
import WireModel

/// The collector's address and how to reach it.
package struct HTTPTransportConfiguration: Sendable {
    package var collector: EndpointURL
    /// PEM file of the only trusted certificate authorities; `nil` trusts the system's.
    package var certificateAuthorityFile: String?
    /// PEM file with the key of the device's client certificate; `nil` if it shows none.
    package var clientKeyFile: String?
    /// An HTTP proxy; `nil` connects directly.
    package var proxy: EndpointURL?
    /// Whether plain HTTP may leave this machine. Anybody on the way can then read and change everything, including
    /// credentials.
    package var allowsPlaintext = false
    /// How long an unused connection stays open. It is longer than a short transmit interval, so such a device does not
    /// reconnect for each transmission. It is short enough that a device with long intervals occupies no connection at
    /// the collector in between.
    package var keepAlive: Duration = .seconds(75)
    /// Time limit for establishing a connection, including TLS.
    package var connectTimeout: Duration = .seconds(10)

    package init(collector: EndpointURL, certificateAuthorityFile: String? = nil, proxy: EndpointURL? = nil) {
        self.collector = collector
        self.certificateAuthorityFile = certificateAuthorityFile
        self.proxy = proxy
    }

    /// Checks what needs no connection: whether plain HTTP is permitted, and the file of authorities.
    package func check() throws(HTTPTransportError) {
        try checkPlaintext()
        _ = try HTTPTransport.tls(self)
    }

    /// A proxy on another machine is beyond this machine, even if the collector is here. A proxy on this machine may
    /// forward to anywhere.
    package func checkPlaintext() throws(HTTPTransportError) {
        guard collector.scheme == .http, !allowsPlaintext else { return }
        let hops = [collector, proxy].compactMap { $0 }
        guard let hop = hops.first(where: { !$0.isLoopback }) else { return }
        let what = hop == collector ? "the collector \(collector)" : "the proxy \(hop) on the way to \(collector)"
        throw HTTPTransportError(
            .plaintext,
            "\(what) is on another machine, and plain http:// lets everybody in between read credentials and data. "
                + "Use https://; or allow it with --allow-plaintext (WS1_ALLOW_PLAINTEXT, allowPlaintext in the "
                + "agent's file, allowsPlaintext in a program) where the network itself is protected")
    }
}

/// A checked `http` or `https` address: host, port, and a path prefix without a trailing slash.
package struct EndpointURL: Equatable, Sendable, CustomStringConvertible {
    package enum Scheme: String, Sendable {
        case http, https
    }

    package let scheme: Scheme
    /// A name or an IP address; an IPv6 address without its brackets.
    package let host: String
    package let port: Int
    /// Empty, or with a leading and without a trailing slash.
    package let prefix: String

    /// Parses a collector's address: `http[s]://HOST[:PORT][/PREFIX]`.
    package init(collector text: String) throws(HTTPTransportError) {
        try self.init(text, code: .invalidCollectorURL, what: "collector URL", schemes: [.http, .https])
    }

    /// Parses a proxy's address: `http://HOST[:PORT]`.
    package init(proxy text: String) throws(HTTPTransportError) {
        try self.init(text, code: .invalidProxyURL, what: "proxy URL", schemes: [.http])
        guard prefix.isEmpty else {
            throw HTTPTransportError(.invalidProxyURL, "the proxy URL must end after its port")
        }
    }

    private init(_ text: String, code: HTTPTransportError.Code, what: String, schemes: [Scheme])
        throws(HTTPTransportError)
    {
        let expected = schemes.map { "\($0.rawValue)://HOST[:PORT]" }.joined(separator: " or ")
        // The message does not repeat the text, because it may contain a password.
        func refusal(_ reason: String) -> HTTPTransportError {
            HTTPTransportError(code, "the \(what) \(reason); expected \(expected)")
        }
        guard let parts = URLComponents(string: text) else { throw refusal("is not a URL") }
        guard let name = parts.scheme?.lowercased() else { throw refusal("has no scheme") }
        guard let scheme = Scheme(rawValue: name), schemes.contains(scheme) else {
            throw refusal("has the scheme '\(name)'")
        }
        guard parts.user == nil, parts.password == nil else {
            throw refusal("holds a user name or password, which are not used")
        }
        guard parts.query == nil else { throw refusal("has a query") }
        guard parts.fragment == nil else { throw refusal("has a fragment") }
        guard var host = parts.host, !host.isEmpty, host != "[]" else { throw refusal("has no host") }
        if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
        let port = parts.port ?? (scheme == .https ? 443 : 80)
        guard (1...65535).contains(port) else { throw refusal("has the port \(port), not one of 1 to 65535") }
        var prefix = parts.percentEncodedPath
        while prefix.hasSuffix("/") { prefix.removeLast() }
        self.scheme = scheme
        self.host = host
        self.port = port
        self.prefix = prefix
    }

    /// Host and port as in a URL.
    package var authority: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

    /// Whether the host is this machine.
    package var isLoopback: Bool { LoopbackHost.contains(host) }

    package var description: String { "\(scheme.rawValue)://\(authority)\(prefix)" }
}

/// Why a transport could not be made from its configuration. Errors of an exchange are `TransportError`s.
package struct HTTPTransportError: Error, Sendable, CustomStringConvertible {
    package enum Code: String, Sendable {
        case invalidCollectorURL = "invalid-collector-url"
        case invalidProxyURL = "invalid-proxy-url"
        case certificateAuthorities = "certificate-authorities"
        /// Plain HTTP to another machine without permission.
        case plaintext
    }

    package let code: Code
    /// The value, what is wrong with it, and what is expected.
    package let message: String
    package let cause: (any Error)?

    package init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    package var description: String { "\(code.rawValue): \(message)" }
}
