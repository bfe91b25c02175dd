import FoundationEssentials
import TelemetryBasics

/// A checked address of a broker with the prefix of all topics: `mqtts://BROKER[:8883]/PREFIX`, or `mqtt://` without
/// TLS.
package struct MQTTAddress: Equatable, Sendable, CustomStringConvertible {
    package let isTLS: Bool
    /// A name or an IP address; an IPv6 address without its brackets.
    package let host: String
    package let port: Int
    /// One or more levels, without a slash at either end.
    package let prefix: String

    /// Whether the text is meant as an address of a broker. Whether it is a valid one shows when it is read.
    package static func isOne(_ text: String) -> Bool {
        let text = text.lowercased()
        return text.hasPrefix("mqtts:") || text.hasPrefix("mqtt:")
    }

    /// - Parameter what: what messages call the address, such as "collector URL".
    /// - Throws: `configuration`. The message does not repeat the text, because it may contain a password.
    package init(_ text: String, what: String) throws(MQTTError) {
        func refusal(_ why: String) -> MQTTError {
            MQTTError(.configuration, "the \(what) \(why); expected mqtts://BROKER[:8883]/PREFIX")
        }
        guard let parts = URLComponents(string: text) else { throw refusal("is not a URL") }
        switch parts.scheme?.lowercased() {
        case "mqtts": isTLS = true
        case "mqtt": isTLS = false
        case let scheme?: throw refusal("has the scheme '\(scheme)'")
        case nil: throw refusal("has no scheme")
        }
        guard parts.user == nil, parts.password == nil else {
            throw refusal("holds a user name or password: give them as mqttUser and mqttPasswordFile")
        }
        guard parts.query == nil else { throw refusal("has a query") }
        guard parts.fragment == nil else {
            throw refusal("has a fragment: a topic with # is not possible, and # is no part of a prefix")
        }
        guard var host = parts.host, !host.isEmpty, host != "[]" else { throw refusal("has no host") }
        if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
        let port = parts.port ?? (isTLS ? 8883 : 1883)
        guard (1...65_535).contains(port) else { throw refusal("has the port \(port), not one of 1 to 65535") }
        var prefix = parts.path
        if prefix.hasPrefix("/") { prefix.removeFirst() }
        if prefix.hasSuffix("/") { prefix.removeLast() }
        guard !prefix.isEmpty else { throw refusal("has no prefix: the topics below it belong to one collector") }
        try MQTTTopic.check(prefix: prefix, what: "the prefix in the \(what)")
        self.host = host
        self.port = port
        self.prefix = prefix
    }

    /// Host and port as in a URL.
    package var authority: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

    /// Whether the broker is on this machine.
    package var isLoopback: Bool { LoopbackHost.contains(host) }

    package var description: String { "\(isTLS ? "mqtts" : "mqtt")://\(authority)/\(prefix)" }
}
