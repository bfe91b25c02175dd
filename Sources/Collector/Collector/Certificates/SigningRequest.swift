import Crypto
import CryptoExtras
import Foundation
import SwiftASN1
import WireModel
import X509

/// A device's request for a certificate (PKCS #10), checked: whoever made it holds the key, and the key is good enough.
///
/// Only the key is taken from it. The subject, names and extensions it asks for are the collector's to say and are not looked at.
struct SigningRequest: Sendable {
    /// In DER; one with the largest key that is taken has about 2,500.
    static let maximumBytes = 16 * 1024
    static let rsaBits = 2048...8192

    let key: Certificate.PublicKey

    /// - Parameter der: as it came.
    /// - Throws: `Problem` 400, whose code says what is wrong with it.
    init(der: Data) throws(Problem) {
        guard der.count <= Self.maximumBytes else {
            throw .signingRequest("csr-too-large", "It has \(der.count) bytes; at most \(Self.maximumBytes) are taken.")
        }
        let request: CertificateSigningRequest
        do { request = try CertificateSigningRequest(derEncoded: Array(der)) } catch let error as ASN1Error {
            throw .signingRequest("csr-malformed", "It is not a PKCS #10 request in DER: \(error).")
        } catch {
            // Its form is right; a key is in it that the library does not take.
            throw Self.otherKey
        }
        guard Self.isTaken(request.publicKey) else { throw Self.otherKey }
        guard request.signatureAlgorithm != .sha1WithRSAEncryption,
            request.publicKey.isValidSignature(request.signature, for: request)
        else {
            throw .signingRequest(
                "csr-signature", "Its signature is not one of its own key, or one with SHA-1. Make it again with that key.")
        }
        key = request.publicKey
    }

    private static let otherKey = Problem.signingRequest(
        "csr-key",
        "Its key is none that is taken: P-256, P-384, or RSA with \(rsaBits.lowerBound) to \(rsaBits.upperBound) bits.")

    private static func isTaken(_ key: Certificate.PublicKey) -> Bool {
        if let rsa = _RSA.Signing.PublicKey(key) { return rsaBits.contains(rsa.keySizeInBits) }
        // A certificate with an Ed25519 key can be issued, but not be shown: neither side's TLS signs with one.
        return P256.Signing.PublicKey(key) != nil || P384.Signing.PublicKey(key) != nil
    }
}
