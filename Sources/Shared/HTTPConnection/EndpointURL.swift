import FoundationEssentials
import TelemetryBasics

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
    /// The credentials that a proxy of the environment asks for; messages never show them.
    let credentials: Credentials?

    struct Credentials: Equatable, Sendable {
        var user: String
        var password: String
    }

    /// Parses a collector's address: `http[s]://HOST[:PORT][/PREFIX]`.
    package init(collector text: String) throws(ConnectionSettingsError) {
        try self.init(text, code: .invalidCollectorURL, what: "collector URL", schemes: [.http, .https])
    }

    /// Parses a proxy's address: `http://HOST[:PORT]`.
    package init(proxy text: String) throws(ConnectionSettingsError) {
        try self.init(text, code: .invalidProxyURL, what: "proxy URL", schemes: [.http])
        guard prefix.isEmpty else {
            throw ConnectionSettingsError(.invalidProxyURL, "the proxy URL must end after its port")
        }
    }

    /// Parses what a variable of the environment names as proxy: `[http://][USER:PASSWORD@]HOST[:PORT][/]`.
    init(proxy text: String, variable: String) throws(ConnectionSettingsError) {
        try self.init(
            text.contains("://") ? text : "http://\(text)", code: .invalidProxyURL, what: "proxy URL in \(variable)",
            schemes: [.http], allowsCredentials: true)
        guard prefix.isEmpty else {
            throw ConnectionSettingsError(.invalidProxyURL, "the proxy URL in \(variable) must end after its port")
        }
    }

    /// Parses the address of another server that the collector itself asks: `http[s]://HOST[:PORT][/PREFIX]`.
    /// - Parameter name: what messages call the address, such as "ClickHouse URL".
    package init(server text: String, name: String) throws(ConnectionSettingsError) {
        try self.init(text, code: .invalidServerURL, what: name, schemes: [.http, .https])
    }

    private init(
        _ text: String, code: ConnectionSettingsError.Code, what: String, schemes: [Scheme],
        allowsCredentials: Bool = false
    ) throws(ConnectionSettingsError) {
        let expected = schemes.map { "\($0.rawValue)://HOST[:PORT]" }.joined(separator: " or ")
        // The message does not repeat the text, because it may contain a password.
        func refusal(_ reason: String) -> ConnectionSettingsError {
            ConnectionSettingsError(code, "the \(what) \(reason); expected \(expected)")
        }
        guard let parts = URLComponents(string: text) else { throw refusal("is not a URL") }
        guard let name = parts.scheme?.lowercased() else { throw refusal("has no scheme") }
        guard let scheme = Scheme(rawValue: name), schemes.contains(scheme) else {
            throw refusal("has the scheme '\(name)'")
        }
        guard allowsCredentials || (parts.user == nil && parts.password == nil) else {
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
        credentials = parts.user.map { Credentials(user: $0, password: parts.password ?? "") }
    }

    /// Host and port as in a URL.
    package var authority: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

    /// Whether the host is this machine.
    package var isLoopback: Bool { LoopbackHost.contains(host) }

    package var description: String { "\(scheme.rawValue)://\(authority)\(prefix)" }
}

/// Why no connection can be made with these settings. Errors of an exchange are `TransportError`s.
package struct ConnectionSettingsError: CodedError {
    package enum Code: String, Sendable {
        case invalidCollectorURL = "invalid-collector-url"
        case invalidProxyURL = "invalid-proxy-url"
        /// A wrong address of a server that the collector itself asks.
        case invalidServerURL = "invalid-server-url"
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
}
