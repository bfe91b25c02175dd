import FoundationEssentials
import MQTTClient
import TelemetryBasics

/// The known facts about the broker that leads to a collector, and about this device there.
package struct MQTTTransportSettings: Equatable, Sendable {
    package var address: MQTTAddress
    /// The device's name at the broker: its client id, and the level of its topics. `nil`: the user.
    package var name: String?
    /// The broker's credentials; `nil` for none.
    package var user: String?
    /// File with the password in its first line. Read for each connection, so a replaced one is used.
    package var passwordFile: String?
    package var security = MQTTSecurity()
    /// Whether the connection may leave this machine without TLS. Anybody on the way can then read and change
    /// everything, including credentials.
    package var allowsPlaintext = false

    package init(address: MQTTAddress) { self.address = address }

    /// Checks what needs no connection and no file: names, and whether plain MQTT is permitted.
    /// - Throws: `configuration`.
    package func checkValues() throws(MQTTError) {
        _ = try topics
        guard address.isTLS || allowsPlaintext || address.isLoopback else {
            throw MQTTError(
                .configuration,
                "the broker \(address.authority) is on another machine, and plain mqtt:// lets everybody in between "
                    + "read credentials and data. Use mqtts://; or allow it with --allow-plaintext "
                    + "(WS1_ALLOW_PLAINTEXT, allowPlaintext in the agent's file, allowsPlaintext in a program) where "
                    + "the network itself is protected")
        }
        guard user != nil || passwordFile == nil else {
            throw MQTTError(.configuration, "mqttPasswordFile is given without mqttUser: give both, or neither")
        }
        guard (security.certificateFile == nil) == (security.keyFile == nil) else {
            throw MQTTError(.configuration, "mqttCertificate and mqttKey belong together: give both, or neither")
        }
        guard address.isTLS || security.certificateFile == nil else {
            throw MQTTError(.configuration, "mqttCertificate needs an mqtts:// address: mqtt:// shows no certificate")
        }
    }

    /// Checks the same, and the library and the files.
    package func check() throws(MQTTError) {
        try checkValues()
        try MQTTClient.check(try clientSettings())
    }

    package var topics: DeviceTopics {
        get throws(MQTTError) {
            guard let name = name ?? user else {
                throw MQTTError(
                    .configuration,
                    "the broker needs a name for this device: give mqttUser, or mqttName, another for each device")
            }
            return try DeviceTopics(
                prefix: address.prefix, name: name, what: self.name == nil ? "mqttUser" : "mqttName")
        }
    }

    /// - Throws: `configuration` for a file of the password that cannot be read.
    func clientSettings() throws(MQTTError) -> MQTTSettings {
        var settings = MQTTSettings(address: address, clientID: try topics.name)
        settings.user = user
        settings.password = try password()
        settings.security = security
        return settings
    }

    private func password() throws(MQTTError) -> String? {
        guard let passwordFile else { return nil }
        let content: [UInt8]
        do { content = try PlainText.read(passwordFile) } catch {
            throw MQTTError(.configuration, "the password file of the broker cannot be read: \(error)")
        }
        let line = content.prefix { $0 != UInt8(ascii: "\n") }
        guard !line.isEmpty else {
            throw MQTTError(.configuration, "the first line of \(passwordFile) is empty: it must be the password")
        }
        return String(decoding: line, as: UTF8.self)
    }
}

/// The topics of one device. `Schemas/mqtt/PROTOCOL.md` says what goes over them.
package struct DeviceTopics: Equatable, Sendable {
    package let name: String
    private let base: String

    /// - Parameter what: what messages call the name.
    /// - Throws: `configuration` for a prefix or a name that no topic can have.
    package init(prefix: String, name: String, what: String) throws(MQTTError) {
        try MQTTTopic.check(prefix: prefix, what: "the prefix")
        try MQTTTopic.check(level: name, what: what)
        self.name = name
        base = "\(prefix)/v1/d/\(name)"
    }

    package var requests: String { "\(base)/q" }
    package var answers: String { "\(base)/a" }
    package var news: String { "\(base)/n" }
    package var state: String { "\(base)/s" }

    /// For the parts after the first.
    /// - Parameter collector: the level that the collector named.
    func rest(to collector: String) -> String { "\(requests)/\(collector)" }
}
