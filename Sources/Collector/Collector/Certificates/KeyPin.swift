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
                """
                \(flag) \(file) cannot be used: \(FileFault(file).words(otherwise: "it holds no certificate")). Give a \
                readable PEM file.
                """,
                cause: error)
        }
    }

    /// Whether a chain can end here: the certificate names itself as its issuer.
    static func isRoot(_ certificate: Certificate) -> Bool { certificate.issuer == certificate.subject }

    /// The root that ends a server's chain, in DER; `nil` if the chain ends below it.
    static func root(of chain: [Certificate]) -> Data? {
        guard let root = chain.last(where: isRoot) else { return nil }
        var serializer = DER.Serializer()
        // It was parsed, so it can be written.
        do { try serializer.serialize(root) } catch { return nil }
        return Data(serializer.serializedBytes)
    }

    /// The root that ends the chain in a PEM file.
    /// - Parameter flag: who named the file, for errors.
    /// - Throws: `invalidConfiguration` if the file is unreadable or has no certificate.
    package static func root(file: String, flag: String) throws(CollectorError) -> Data? {
        root(of: try certificates(file: file, flag: flag).compactMap { try? Certificate(derEncoded: Array($0)) })
    }

    /// Where `ws1collector enrollment-file` keeps the backup key.
    /// - Parameter directory: the data directory.
    package static func backupKeyPath(in directory: String) -> String { "\(directory)/backup-key.pem" }

    /// A new P-256 private key in PEM.
    package static func newKey() throws -> String {
        try Certificate.PrivateKey(P256.Signing.PrivateKey()).serializeAsPEM().pemString + "\n"
    }
}

/// What an enrollment URL of this collector says about its certificate.
///
/// The pins are of its own key, and of a backup key for the day when that one is lost. With one pin alone, a lost key
/// would cut off all devices, so there are both or none. The authority is the root of the served chain, so that devices
/// need not know a private one. A public root there is no harm: devices trust it anyway.
struct EnrollmentTrust: Sendable {
    /// The pin of the certificate that is served now; `nil`: this collector does not end TLS.
    let own: @Sendable () -> Data?
    /// `nil` as long as nobody has made one.
    let backup: @Sendable () -> Data?
    /// The root of the served chain in DER; `nil` if the certificate's file does not hold it.
    let root: @Sendable () -> Data?
    /// `nil`: this collector serves no message broker.
    let broker: EnrollmentBroker?

    /// - Parameters:
    ///   - address: as devices reach the collector. Over plain HTTP no certificate is shown.
    ///   - wanted: `false` where a proxy shows devices a certificate of its own.
    func authorities(at address: String, wanted: Bool) -> [Data] {
        guard wanted else { return [] }
        let scheme = address.prefix { $0 != ":" }.lowercased()
        if scheme == "mqtts" { return broker?.authorities() ?? [] }
        return scheme == "https" ? root().map { [$0] } ?? [] : []
    }

    /// None for a broker, whose keys this collector does not know.
    /// - Parameters: as of ``authorities(at:wanted:)``.
    func pins(at address: String, wanted: Bool) -> [Data] {
        guard wanted, address.lowercased().hasPrefix("https:"), let own = own(), let backup = backup(), own != backup
        else { return [] }
        return [own, backup]
    }
}

/// The message broker of this collector, as an enrollment URL can name it.
package struct EnrollmentBroker: Sendable {
    /// Says why an `mqtts://` or `mqtt://` address leads no device to this collector; `nil`: it may. Devices may know
    /// the broker by another name than the collector does.
    package let objection: @Sendable (String) -> String?
    /// The authorities that the collector trusts for the broker, in DER; empty: those of the system.
    package let authorities: @Sendable () -> [Data]

    package init(
        objection: @escaping @Sendable (String) -> String?, authorities: @escaping @Sendable () -> [Data]
    ) {
        (self.objection, self.authorities) = (objection, authorities)
    }
}
