import FoundationEssentials
import WireModel

/// An `http` or `https` address of a server, checked: host, port and a path prefix without a slash at its end.
package struct EndpointURL: Equatable, Sendable, CustomStringConvertible {
    package enum Scheme: String, Sendable {
        case http, https
    }

    package let scheme: Scheme
    /// A name or an IP address; an IPv6 address without its brackets.
    package let host: String
    package let port: Int
    /// Empty, or starting with a slash and ending without one.
    package let prefix: String

    /// The address a collector is reached at: `http[s]://HOST[:PORT][/PREFIX]`.
    package init(collector text: String) throws(HTTPTransportError) {
        try self.init(text, code: .invalidCollectorURL, what: "collector URL", schemes: [.http, .https])
    }

    /// A proxy's address: `http://HOST[:PORT]`.
    package init(proxy text: String) throws(HTTPTransportError) {
        try self.init(text, code: .invalidProxyURL, what: "proxy URL", schemes: [.http])
        guard prefix.isEmpty else { throw HTTPTransportError(.invalidProxyURL, "the proxy URL must end after its port") }
    }

    private init(_ text: String, code: HTTPTransportError.Code, what: String, schemes: [Scheme]) throws(HTTPTransportError) {
        let expected = schemes.map { "\($0.rawValue)://HOST[:PORT]" }.joined(separator: " or ")
        // The text itself is not repeated: it may hold a password.
        func refusal(_ reason: String) -> HTTPTransportError {
            HTTPTransportError(code, "the \(what) \(reason); expected \(expected)")
        }
        guard let parts = URLComponents(string: text) else { throw refusal("is not a URL") }
        guard let name = parts.scheme?.lowercased() else { throw refusal("has no scheme") }
        guard let scheme = Scheme(rawValue: name), schemes.contains(scheme) else { throw refusal("has the scheme '\(name)'") }
        guard parts.user == nil, parts.password == nil else { throw refusal("holds a user name or password, which are not used") }
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

    /// Host and port as they stand in a URL.
    package var authority: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

    /// Whether it is on this machine.
    package var isLoopback: Bool { LoopbackHost.contains(host) }

    package var description: String { "\(scheme.rawValue)://\(authority)\(prefix)" }
}
