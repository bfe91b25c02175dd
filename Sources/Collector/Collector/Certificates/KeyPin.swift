import CollectorStore
import Crypto
import Foundation
import SwiftASN1
import TelemetryBasics
import X509

/// The pin of a key: SHA-256 of its subject public key info, as devices check it (RFC 7469).
package enum KeyPin {
    static func of(_ key: Certificate.PublicKey) throws -> Data {
        var serializer = DER.Serializer()
        try serializer.serialize(key)
        return Data(SHA256.hash(data: serializer.serializedBytes))
    }

    /// The pin of the first certificate, private key or public key in a PEM file.
    /// - Parameter flag: who named the file, for errors.
    /// - Throws: `invalidConfiguration` if the file is unreadable or has none of these.
    package static func of(file: String, flag: String) throws(CollectorError) -> Data {
        do {
            let text = try PEMFile.text(file)
            for document in try PEMDocument.parseMultiple(pemString: text) {
                let kind = document.discriminator
                if kind == "CERTIFICATE" { return try of(Certificate(pemDocument: document).publicKey) }
                if kind == "PUBLIC KEY" { return try of(Certificate.PublicKey(pemDocument: document)) }
                if kind.hasSuffix("PRIVATE KEY") {
                    return try of(Certificate.PrivateKey(pemDocument: document).publicKey)
                }
            }
            throw CocoaError(.fileReadCorruptFile)
        } catch {
            let words = FileFault(file).words(
                otherwise: "it contains no certificate, public key or private key without a passphrase")
            throw CollectorError(
                .invalidConfiguration, "\(flag) \(file) cannot be used: \(words). Give a readable PEM file.",
                cause: error)
        }
    }

    /// The certificates in a PEM file, each in DER.
    /// - Parameter flag: who named the file, for errors.
    /// - Throws: `invalidConfiguration` if the file is unreadable or has none.
    package static func certificates(file: String, flag: String) throws(CollectorError) -> [Data] {
        do {
            let text = try String(contentsOfFile: file, encoding: .utf8)
            let documents = try PEMDocument.parseMultiple(pemString: text).filter { $0.discriminator == "CERTIFICATE" }
            guard !documents.isEmpty else { throw CocoaError(.fileReadCorruptFile) }
            return try documents.map { document in
                _ = try Certificate(pemDocument: document)
                return Data(document.derBytes)
            }
        } catch {
            throw CollectorError(
                .invalidConfiguration,
                "\(flag) \(file) cannot be used: \(FileFault(file).words(otherwise: "it holds no certificate")). Give a readable PEM file.",
                cause: error)
        }
    }

    /// Where `ws1collector enrollment-file` keeps the backup key.
    /// - Parameter directory: the data directory.
    package static func backupKeyPath(in directory: String) -> String { "\(directory)/backup-key.pem" }

    /// A new P-256 private key in PEM.
    package static func newKey() throws -> String {
        try Certificate.PrivateKey(P256.Signing.PrivateKey()).serializeAsPEM().pemString + "\n"
    }
}

/// The pins in an enrollment URL that this collector makes: of its own key, and of a backup key for the day when that
/// one is lost. With one pin alone, a lost key would cut off all devices, so there are both or none.
struct EnrollmentPins: Sendable {
    /// The pin of the certificate that is served now; `nil`: this collector does not end TLS.
    let own: @Sendable () -> Data?
    /// `nil` as long as nobody has made one.
    let backup: @Sendable () -> Data?

    /// - Parameters:
    ///   - address: as devices reach the collector. Over plain HTTP no key is shown.
    ///   - wanted: `false` where a proxy shows devices a key of its own.
    func forDevices(at address: String, wanted: Bool) -> [Data] {
        guard wanted, address.lowercased().hasPrefix("https:"), let own = own(), let backup = backup(), own != backup
        else { return [] }
        return [own, backup]
    }
}
