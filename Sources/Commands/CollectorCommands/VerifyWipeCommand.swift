import ArgumentParser
import CommandKit
import FoundationEssentials
import Registry
import TelemetryBasics
import WipeCertificates
import WireModel

struct VerifyWipeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify-wipe",
        abstract: "Check the certificate of a wipe: who signed what, and which keys were destroyed.",
        discussion: """
            FILE is what the collector's API gives as `wipeCertificate.file`, what `ws1agent wipe --json` prints, or \
            the certificate alone. With --data the signature must be by the key that the device registered at this \
            collector when it enrolled; with --key, by that key. Without either, the signature is checked with the key \
            in the file alone. That verifies nothing, because anybody can sign with a key of their own: the content \
            is printed, and the exit code is 1.

            Exits 0 only if the certificate is verified, and 1 otherwise. A certificate proves who signed what. It \
            cannot prove that a flash chip has forgotten.

            Examples:
              ws1collector verify-wipe wipe.json --data /var/lib/ws1collector
              ws1collector verify-wipe wipe.json --key jRPYhl3XMzFvIkQXZ8uQkrJbLPzLvTfGUXbYGRmTkGk=
            """)

    @Argument(help: ArgumentHelp("The file.", valueName: "file"))
    var file: String

    @Option(help: ArgumentHelp("The device's public key, 32 bytes in base64.", valueName: "public-key"))
    var key: String?

    @Flag(
        help: """
            Print JSON: `certificate`, the public `key`, `confirmedBy` (`data` or `key`; absent if nobody did, and the \
            exit code is 1 then) and `collector`, what the collector's copy adds.
            """)
    var json = false

    @OptionGroup var data: DataOptions

    func validate() throws {
        guard key == nil || data.given.isEmpty else { throw ValidationError("give --key or --data, not both") }
    }

    func run() async throws {
        let held = try read()
        guard let document = held.document else {
            throw CommandError(.failed, "\(file) has no certificate: \(held.remark ?? "nobody says why").")
        }
        let signed: SignedWipeCertificate
        do throws(WipeCertificateError) { signed = try SignedWipeCertificate(text: document) } catch {
            throw refusal(error.message)
        }
        if let collector = held.collector {
            if let finding = collector.finding { throw refusal("the collector found when it arrived: \(finding)") }
            guard collector.key == signed.key else {
                throw refusal("the collector's copy names another key of the device than signed it")
            }
        }
        let confirmedBy = try await confirm(signed)
        if json {
            try Output.json(
                VerifiedWipeView(
                    certificate: signed.certificate, key: signed.key, confirmedBy: confirmedBy,
                    collector: held.collector))
        } else {
            for line in Self.lines(signed, held.collector) { try Output.line(line) }
        }
        switch confirmedBy {
        case nil: throw unconfirmed(signed.certificate)
        case "data" where !json:
            try Output.line(
                "verified: device \(signed.certificate.device) registered this key when it enrolled, and signed this")
        case _ where !json: try Output.line("verified: whoever has the given key signed this")
        default: break
        }
    }

    private func read() throws -> WipeCertificateFile {
        let bytes: [UInt8]?
        do throws(FileError) {
            bytes = try Files<FileError>.read(file, maximumBytes: WipeCertificateFile.maximumBytes + 1)
        } catch { throw CommandError(.failed, "\(error)", cause: error) }
        guard let bytes else { throw CommandError(.usage, "There is no file \(file).") }
        do throws(WipeCertificateError) { return try WipeCertificateFile(bytes: Data(bytes)) } catch {
            throw refusal(error.message)
        }
    }

    /// - Returns: who says that the key is the device's; `nil`: nobody was asked.
    private func confirm(_ signed: SignedWipeCertificate) async throws -> String? {
        if let key {
            guard let expected = Data(base64Encoded: key), expected.count == 32 else {
                throw CommandError(.usage, "--key is no public key of 32 bytes in base64.")
            }
            guard expected == signed.key else {
                throw refusal("it is signed with the key \(signed.key.base64EncodedString())")
            }
            return "key"
        }
        guard !data.given.isEmpty else { return nil }
        let certificate = signed.certificate
        let (collector, keys) = try await data.dataSettings().withMetadata { metadata in
            (metadata.collectorID, try await Self.keys(of: certificate, in: metadata))
        }
        guard certificate.collector == "\(collector)" else {
            throw refusal("it is of collector \(certificate.collector), and this is the data of \(collector)")
        }
        guard !keys.isEmpty else {
            throw refusal("this collector knows no key of device \(certificate.device)")
        }
        guard keys.contains(signed.key) else {
            throw refusal("device \(certificate.device) registered another key when it enrolled")
        }
        return "data"
    }

    /// The keys that a device registered: at the enrollment of the command, and at its present one.
    private static func keys(of certificate: WipeCertificate, in metadata: MetadataService) async throws -> [Data] {
        guard let device = DeviceID(certificate.device) else { return [] }
        var keys: [Data] = []
        if let command = certificate.command.flatMap({ CommandID($0) }),
            let key = try await metadata.command(command, of: device)?.status.certificate?.collector?.key
        {
            keys.append(key)
        }
        if let present = try await metadata.wipeKey(of: device) { keys.append(present.key) }
        return keys
    }

    private func refusal(_ why: String) -> CommandError { CommandError(.failed, "\(file) is not verified: \(why).") }

    /// The signature is right, and the key may be anybody's. A script must not take that for evidence.
    private func unconfirmed(_ certificate: WipeCertificate) -> CommandError {
        CommandError(
            .failed,
            """
            \(file) is not verified: its signature is right, but nobody has confirmed that the public key in it is \
            that of device \(certificate.device). Give --data DIR of collector \(certificate.collector), which knows \
            the key, or --key with the public key that you noted when the device enrolled.
            """)
    }

    private static func lines(_ signed: SignedWipeCertificate, _ collector: WipeCertificateFile.Collector?) -> [String]
    {
        let certificate = signed.certificate
        var lines = [
            "device: \(certificate.device)", "organization: \(certificate.organization)",
            "collector: \(certificate.collector)",
            "\(certificate.kind.rawValue): "
                + (certificate.command.map { "command \($0)" } ?? "asked for on the device"),
            "begun: \(Timestamp.text(certificate.begun))", "ended: \(Timestamp.text(certificate.ended))",
            "method: \(certificate.method.rawValue)",
        ]
        if let key = certificate.deviceKey { lines.append("device key: \(key.provider), \(key.fingerprint)") }
        lines += certificate.keys.map { "destroyed key: \($0.id), \($0.purpose), \($0.fingerprint)" }
        if certificate.otherKeys > 0 { lines.append("destroyed keys that are not listed: \(certificate.otherKeys)") }
        lines += certificate.epochs.map { "ended epoch: \($0)" }
        lines += [
            "erased: \(CountText.of(certificate.records, "record")), "
                + CountText.of(certificate.logSegments, "log segment"),
            "public key: \(signed.key.base64EncodedString())",
        ]
        if let collector {
            let enrolled = collector.enrolled.map(Timestamp.text) ?? "at an unknown time"
            lines.append(
                "enrolled: \(enrolled)"
                    + (collector.enrollmentToken.map { " with token \($0)" } ?? "") + ", as the collector's copy says")
            lines.append("received: \(Timestamp.text(collector.received)), as the collector's copy says")
        }
        return lines
    }
}

private struct VerifiedWipeView: Encodable {
    var certificate: WipeCertificate
    var key: Data
    var confirmedBy: String?
    var collector: WipeCertificateFile.Collector?
}
