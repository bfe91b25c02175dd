import Collector
import CommandKit
import Foundation
import MQTTClient
import MQTTIntake
import Registry
import TelemetryBasics
import WireModel

/// The message broker behind which devices are, as the settings name it.
struct BrokerSettings: Equatable, Sendable {
    var address: MQTTAddress?
    var user: String?
    var passwordFile: String?
    var ca: String?
    var certificate: String?
    var key: String?
    var maximumRequests = MQTTIntake.Settings().maximumRequests

    static let table: [Setting<Settings>] = [
        Setting(
            "mqtt-broker", \.broker.address, .broker,
            """
            Address of a message broker with MQTT 5 whose devices are served, too, and the prefix of all topics: \
            mqtts://BROKER[:8883]/PREFIX. mqtt:// only to this machine, or with allow-plaintext
            """,
            value: "url", example: "mqtts://broker.example/ws1"),
        Setting(
            "mqtt-user", \.broker.user, .text, "The collector's user at the broker", value: "name", fallback: "none",
            example: "collector"),
        Setting(
            "mqtt-password-file", \.broker.passwordFile, .text,
            "File whose first line is that user's password; read for each connection", value: "file",
            fallback: "none", example: "/etc/ws1collector/mqtt-password"),
        Setting(
            "mqtt-ca", \.broker.ca, .text,
            "PEM file with the only authorities to trust for the broker; read for each connection", value: "file",
            fallback: "those of the system", example: "/etc/ws1collector/mqtt-ca.pem"),
        Setting(
            "mqtt-certificate", \.broker.certificate, .text,
            "PEM file with the client certificate for the broker, and its chain", value: "file", fallback: "none",
            example: "/etc/ws1collector/mqtt.pem"),
        Setting(
            "mqtt-key", \.broker.key, .text, "PEM file with its private key, without a passphrase", value: "file",
            fallback: "none", example: "/etc/ws1collector/mqtt.key"),
        Setting(
            "mqtt-maximum-requests", \.broker.maximumRequests, .integer(1...100_000),
            "Requests from the broker that are worked on at once; further ones are answered 429", value: "count"),
    ]

    /// - Throws: `.usage`, naming what does not fit.
    func check(_ layers: SettingLayers<Settings>, _ settings: Settings) throws(CommandError) {
        guard let address else {
            if user != nil { throw layers.refusal(\.broker.user, "give --mqtt-broker too") }
            if passwordFile != nil { throw layers.refusal(\.broker.passwordFile, "give --mqtt-broker too") }
            if ca != nil { throw layers.refusal(\.broker.ca, "give --mqtt-broker too") }
            if certificate != nil { throw layers.refusal(\.broker.certificate, "give --mqtt-broker too") }
            if key != nil { throw layers.refusal(\.broker.key, "give --mqtt-broker too") }
            return
        }
        guard address.isTLS || address.isLoopback || settings.allowPlaintext else {
            throw layers.refusal(
                \.broker.address,
                """
                it is an mqtt:// address on another machine, and anybody on the network path could read credentials \
                and data. Give an mqtts:// address, or --allow-plaintext
                """)
        }
        if passwordFile != nil, user == nil { throw layers.refusal(\.broker.passwordFile, "give --mqtt-user too") }
        switch (certificate, key) {
        case (nil, _?): throw layers.refusal(\.broker.key, "give --mqtt-certificate too")
        case (_?, nil): throw layers.refusal(\.broker.certificate, "give --mqtt-key too")
        default: break
        }
        guard settings.deviceCertificates != .required else {
            throw layers.refusal(
                \.broker.address,
                """
                --device-certificates required refuses every device behind a broker, because the broker ends TLS and \
                shows no certificate. Give --device-certificates optional
                """)
        }
    }

    /// The broker for enrollment URLs; `nil` without one.
    var enrollment: EnrollmentBroker? {
        guard let own = address else { return nil }
        let ca = ca
        return EnrollmentBroker { text in
            do throws(MQTTError) {
                let given = try MQTTAddress(text, what: "address")
                // The name may be another one outside; the topics are the same.
                guard given.prefix == own.prefix else {
                    return "has the prefix `\(given.prefix)`, and this collector serves `\(own.prefix)`."
                }
                return nil
            } catch { return "is refused: \(error.message)." }
        } authorities: {
            // Read anew, as for a connection. More than fit into a URL are left to the devices' own setting `ca`.
            let found = ca.flatMap { try? KeyPin.certificates(file: $0, flag: "--mqtt-ca") } ?? []
            return found.count <= EnrollmentFile.maximumAuthorities ? found : []
        }
    }

    /// The connection to the broker; `nil` without one. Reads the password.
    /// - Throws: `configuration` if the file of the password cannot be read.
    func connection(clientID: String) throws(MQTTError) -> MQTTSettings? {
        guard let address else { return nil }
        var connection = MQTTSettings(address: address, clientID: clientID)
        connection.user = user
        if let passwordFile { connection.password = try Self.firstLine(passwordFile) }
        connection.security.authorityFile = ca
        connection.security.trustsSystem = ca == nil
        connection.security.certificateFile = certificate
        connection.security.keyFile = key
        return connection
    }

    private static func firstLine(_ path: String) throws(MQTTError) -> String {
        let text: String
        do { text = String(decoding: try PlainText.read(path), as: UTF8.self) } catch {
            throw MQTTError(
                .configuration,
                "mqtt-password-file \(path) cannot be read: \(FileFault(path).words(otherwise: "\(error)"))")
        }
        let line = text.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false).first ?? ""
        guard !line.isEmpty else {
            throw MQTTError(.configuration, "mqtt-password-file \(path) has no password in its first line")
        }
        return String(line)
    }

    /// Checks what needs no connection: the library, and the files of password and certificates.
    func checkFiles() throws(CommandError) {
        do throws(MQTTError) {
            guard let connection = try connection(clientID: "") else { return }
            try MQTTClient.check(connection)
        } catch { throw CommandError(.usage, error.message, cause: error) }
    }
}

extension SettingType where Value == MQTTAddress {
    fileprivate static let broker = SettingType(
        .text(range: "mqtts:// or mqtt:// with a prefix", pattern: "^mqtts?://")
    ) { given throws(CommandError) in
        let text = try given.text()
        do throws(MQTTError) { return try MQTTAddress(text, what: "mqtt-broker") } catch {
            throw CommandError(.usage, error.message, cause: error)
        }
    }
}
