import ArgumentParser
import Collector
import CollectorAPI
import CommandKit
import Foundation
import HTTPConnection
import MQTTClient
import RecordStore
import Registry
import TelemetryBasics
import WireModel

struct EnrollmentFileCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enrollment-file",
        abstract: "Make one file or URL with which a new device finds this collector, knows its key and enrolls.",
        discussion: """
            The file holds the collector's address, the pins of its keys, and a new enrollment token. The device reads \
            it with `ws1agent run --enrollment FILE`, and refuses from the first contact on a server with another key. \
            The file is secret: only its owner can read it.

            With an https:// address there are two pins: of the key in tls-certificate, and of a backup key. The \
            backup key is for the day when the first key is lost or stolen. Without --backup-key, the command makes \
            one for all enrollment files, backup-key.pem in the data directory. Keep a copy of it in a safe place away \
            from this machine: a backup of the collector does not contain it. Before the collector uses any other key, \
            put the pin of that key into certificatePins of the profile.

            With an http:// address the file has no pins.

            Devices behind a message broker get its address with the prefix, as in mqtt-broker: mqtts://BROKER/PREFIX. \
            The pins are then the broker's: give its certificate with --broker-certificate. Without it the file has no \
            pins.

            Where a private certificate authority signed the collector's certificate, give it with --ca: the file then \
            holds it, and devices trust it beside the authorities of their system. Without --ca the file has the root \
            of the chain in tls-certificate, if that holds it.

            With --print-url the command prints the same as one URL instead: `ws1agent run --enrollment URL`, or \
            better the environment variable WS1_ENROLLMENT, which other users do not see. The URL is as secret as the \
            file. Quote it: it contains & and #.

            Examples:
              ws1collector enrollment-file --config /etc/ws1collector.yaml --address https://collector.example:8420 \
            --output kiosk-7.json
              ws1collector enrollment-file --config /etc/ws1collector.yaml --address https://collector.example:8420 \
            --output image.json --uses 500
              ws1collector enrollment-file --config /etc/ws1collector.yaml --address https://collector.example:8420 \
            --print-url
            """)

    @OptionGroup var options: SettingFlags<EnrollmentFlags>

    @Option(
        help: ArgumentHelp(
            """
            The collector's address as devices reach it: http[s]://HOST[:PORT][/PREFIX], or \
            mqtts://BROKER[:PORT]/PREFIX.
            """,
            valueName: "url"))
    var address: String

    @Option(help: ArgumentHelp("The file to write; it must not exist.", valueName: "file"))
    var output: String?

    @Flag(name: .customLong("print-url"), help: "Print an enrollment URL on standard output instead of writing a file.")
    var printURL = false

    @Option(
        help: ArgumentHelp(
            """
            PEM file with the backup key: private key, public key or certificate (default: backup-key.pem in the data \
            directory, made if missing).
            """,
            valueName: "file"))
    var backupKey: String?

    @Option(
        help: ArgumentHelp(
            """
            PEM file with certificate authorities that devices trust beside those of their system, such as a private \
            one (default: the root in tls-certificate, if it holds one).
            """,
            valueName: "file"))
    var ca: String?

    @Option(
        help: ArgumentHelp(
            "PEM file with the certificate of the message broker in an mqtts:// address; its key is pinned.",
            valueName: "file"))
    var brokerCertificate: String?

    @Option(help: ArgumentHelp("Devices that may enroll with the file.", valueName: "count"))
    var uses = 1

    @Option(help: ArgumentHelp("How long devices may enroll with it, such as 12h, 7d or 52w.", valueName: "time"))
    var expires = SpanArgument(seconds: FirstStart.enrollmentTokenSeconds)

    @Option(help: ArgumentHelp("The organization in which the devices enroll.", valueName: "name"))
    var organization = "default"

    @Option(
        help: ArgumentHelp(
            "A note on the token, as `token list` shows it (default: the file's name, or enrollment URL).",
            valueName: "name"))
    var name: String?

    func run() async throws {
        let settings = try options.dataSettings()
        let seconds = try expires.seconds(of: "--expires", atMostDays: SharedRanges.days.upperBound)
        guard uses >= 1 else { throw CommandError(.usage, "--uses is \(uses); expected 1 or more.") }
        guard printURL == (output == nil) else {
            throw CommandError(.usage, "give either --output FILE or --print-url.")
        }
        if let output, FileManager.default.fileExists(atPath: output) {
            throw CommandError(.failed, "\(output) exists. Name another file, or move it away.")
        }
        let kind = try kind
        try await settings.withData { try $0.registry.requireCollector() }
        let pins = try pins(settings, kind)
        let authorities = try authorities(settings, kind)
        // Not later than the token's own end.
        let end = SystemStoreClock().now() + seconds * 1_000_000
        let made = try await settings.withMetadata { metadata in
            try await metadata.createEnrollmentToken(
                organization: organization, expiresInSeconds: seconds, maximumUses: uses,
                note: name ?? output.map { URL(fileURLWithPath: $0).lastPathComponent } ?? "enrollment URL")
        }
        let file = EnrollmentFile(
            collector: address, certificatePins: pins, certificateAuthorities: authorities, token: made.token,
            expires: end)
        do {
            if let output {
                try OwnerFile(path: output).create(with: try file.text, remedy: "Fix that, and try again.")
            } else {
                try Output.line(file.url)
            }
        } catch {
            // Nobody has the token, so it must not stay valid.
            try await settings.withMetadata { try await $0.revokeToken(made.id) }
            throw error
        }
        let summary =
            "\(address), \(pins.isEmpty ? "no pins" : CountText.of(pins.count, "pin")), token \(made.id) for "
            + "\(CountText.of(uses, "device")) until \(Timestamp.text(end))"
        // The URL stands alone on standard output, for a script.
        if let output {
            try Output.line("\(output): \(summary)")
        } else {
            StandardError.line("ws1collector: \(summary)")
        }
    }

    /// What devices connect to, as far as certificates go.
    private enum Kind {
        case plain, https, broker
    }

    /// - Throws: `usage` for an address that no device can use.
    private var kind: Kind {
        get throws {
            let kind: Kind
            if MQTTAddress.isOne(address) {
                do throws(MQTTError) {
                    kind = try MQTTAddress(address, what: "--address").isTLS ? .broker : .plain
                } catch { throw CommandError(.usage, error.message, cause: error) }
            } else {
                do throws(ConnectionSettingsError) {
                    kind = try EndpointURL(collector: address).scheme == .https ? .https : .plain
                } catch { throw CommandError(.usage, "--address: \(error.message)", cause: error) }
            }
            guard brokerCertificate == nil || kind == .broker else {
                throw CommandError(.usage, "--broker-certificate is for an mqtts:// address. Leave it out.")
            }
            return kind
        }
    }

    /// The authorities of `--ca`, else the root of the collector's own chain; in DER.
    private func authorities(_ settings: Settings, _ kind: Kind) throws -> [Data] {
        guard let ca else {
            guard kind == .https, let certificate = settings.tlsCertificate else { return [] }
            return try KeyPin.root(file: certificate, flag: "--tls-certificate").map { [$0] } ?? []
        }
        guard kind != .plain else {
            throw CommandError(
                .usage, "--ca is for https:// and mqtts://: without TLS no certificate is shown. Leave it out.")
        }
        let authorities = try KeyPin.certificates(file: ca, flag: "--ca")
        guard authorities.count <= EnrollmentFile.maximumAuthorities else {
            throw CommandError(
                .usage,
                "--ca \(ca) holds \(authorities.count) certificates; at most \(EnrollmentFile.maximumAuthorities) fit.")
        }
        return authorities
    }

    /// The pins of the key in use and of the backup key; none without TLS, or for a broker without its certificate.
    private func pins(_ settings: Settings, _ kind: Kind) throws -> [Data] {
        guard kind == .https || brokerCertificate != nil else {
            guard backupKey == nil else {
                throw CommandError(
                    .usage,
                    kind == .broker
                        ? "--backup-key needs --broker-certificate: without it no key of the broker is pinned."
                        : "--backup-key is for https:// and mqtts://: without TLS no key is shown. Leave it out.")
            }
            return []
        }
        let present: Data
        if let brokerCertificate {
            present = try KeyPin.of(file: brokerCertificate, flag: "--broker-certificate")
        } else if let certificate = settings.tlsCertificate {
            present = try KeyPin.of(file: certificate, flag: "--tls-certificate")
        } else {
            throw CommandError(
                .usage,
                """
                no certificate is known whose key devices should expect. Give --tls-certificate, or --config with \
                tls-certificate; behind a proxy that ends TLS, give the proxy's certificate.
                """)
        }
        let backup: Data
        if let backupKey {
            backup = try KeyPin.of(file: backupKey, flag: "--backup-key")
        } else {
            let path = KeyPin.backupKeyPath(in: settings.data)
            if !FileManager.default.fileExists(atPath: path) {
                try OwnerFile(path: path).create(with: try KeyPin.newKey(), remedy: "Fix that, and try again.")
                StandardError.line(
                    """
                    ws1collector: \(path) is a new backup key. Keep a copy of it in a safe place away from this machine.
                    """
                )
            }
            backup = try KeyPin.of(file: path, flag: "the backup key")
        }
        guard backup != present else {
            throw CommandError(
                .usage,
                """
                the backup key is the key in use. Give another key with --backup-key, or renew the certificate with a \
                new backup key.
                """
            )
        }
        return [present, backup]
    }
}
