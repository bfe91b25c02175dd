import Crypto
import FoundationEssentials
import WireModel

/// A wipe certificate with its signature: Ed25519 (RFC 8032), by a key that the device registered when it enrolled.
///
///     {"content": …, "key": "<public key>", "signature": "<signature>", "version": 1}
///
/// The text is canonical: sorted keys, nothing between tokens, no other members. So one text stands for one
/// certificate, and what a reader shows is what was signed. Whoever reads one of another layout refuses it.
package struct SignedWipeCertificate: Equatable, Sendable {
    package static let version = 1
    /// The greatest text: 16 KiB.
    package static let maximumBytes = 16 << 10
    /// Stands before the signed content, so that a signature is of nothing else.
    private static let context = Data("ws1 wipe certificate 1\n".utf8)

    private struct Form: Codable {
        var content: WipeCertificate
        var key: Data
        var signature: Data
        var version: Int
    }

    private struct Version: Codable { var version: Int }

    package let certificate: WipeCertificate
    /// The public key that goes with the signature, 32 bytes. Whether it is the device's is another question.
    package let key: Data
    /// Canonical JSON.
    package let text: String

    /// Signs a certificate.
    ///
    /// - Throws: `invalid` if it cannot be encoded or is greater than the limit.
    package init(_ certificate: WipeCertificate, signedWith key: WipeSigningKey) throws(WipeCertificateError) {
        do {
            let signature = try key.signature(for: try Self.signed(certificate))
            let form = Form(
                content: certificate, key: key.publicKey, signature: signature, version: Self.version)
            text = String(decoding: try JSONEncoder.stable().encode(form), as: UTF8.self)
        } catch {
            throw WipeCertificateError(.invalid, "the certificate cannot be made: \(error)")
        }
        guard text.utf8.count <= Self.maximumBytes else { throw Self.tooLong }
        self.certificate = certificate
        self.key = key.publicKey
    }

    /// Reads a certificate and checks its signature with the key that it holds. A line feed at the end is no part of
    /// it.
    ///
    /// - Throws: why it is none, for people; never more than a few words of its text.
    package init(text given: String) throws(WipeCertificateError) {
        let text = given.hasSuffix("\n") ? String(given.dropLast()) : given
        let bytes = Data(text.utf8)
        guard bytes.count <= Self.maximumBytes else { throw Self.tooLong }
        let decoder = JSONDecoder()
        if let found = try? decoder.decode(Version.self, from: bytes), found.version > Self.version {
            throw WipeCertificateError(
                .newerVersion,
                "it has version \(found.version), and this program knows up to \(Self.version): update the program")
        }
        guard let form = try? decoder.decode(Form.self, from: bytes), form.version == Self.version else {
            throw WipeCertificateError(.invalid, "it is no wipe certificate of version \(Self.version)")
        }
        guard let canonical = try? JSONEncoder.stable().encode(form), canonical == bytes else {
            throw WipeCertificateError(
                .invalid, "it is not canonical JSON: its layout was changed, or something was added or repeated")
        }
        guard let signed = try? Self.signed(form.content),
            WipeSigningKey.isValid(form.signature, for: signed, by: form.key)
        else {
            throw WipeCertificateError(.wrongSignature, "its signature is wrong: it was changed, or made by nobody")
        }
        certificate = form.content
        key = form.key
        self.text = text
    }

    private static func signed(_ certificate: WipeCertificate) throws -> Data {
        context + (try JSONEncoder.stable().encode(certificate))
    }

    private static let tooLong = WipeCertificateError(
        .invalid, "it is too long: a certificate has at most \(maximumBytes) bytes")
}

/// Why a text is no wipe certificate that can be believed. The message is a clause about "it".
package struct WipeCertificateError: Error, Equatable, Sendable, CustomStringConvertible {
    package enum Code: Sendable { case invalid, newerVersion, wrongSignature }

    package let code: Code
    package let message: String

    init(_ code: Code, _ message: String) { (self.code, self.message) = (code, message) }

    package var description: String { message }
}

/// The key with which a device signs its wipe certificates. One belongs to one enrollment. Never logged.
package struct WipeSigningKey: Sendable {
    private let key: Curve25519.Signing.PrivateKey

    /// A new key.
    package init() { key = Curve25519.Signing.PrivateKey() }

    /// `nil` unless these are the 32 bytes of a private key.
    package init?(rawRepresentation bytes: Data) {
        guard let key = try? Curve25519.Signing.PrivateKey(rawRepresentation: bytes) else { return nil }
        self.key = key
    }

    /// 32 bytes. The device keeps them with its credential.
    package var rawRepresentation: Data { key.rawRepresentation }

    /// 32 bytes.
    package var publicKey: Data { key.publicKey.rawRepresentation }

    func signature(for bytes: Data) throws -> Data { try key.signature(for: bytes) }

    static func isValid(_ signature: Data, for bytes: Data, by publicKey: Data) -> Bool {
        guard let key = try? Curve25519.Signing.PublicKey(rawRepresentation: publicKey) else { return false }
        return key.isValidSignature(signature, for: bytes)
    }
}
