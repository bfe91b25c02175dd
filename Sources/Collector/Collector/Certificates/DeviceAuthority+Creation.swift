import Crypto
import Foundation
import SwiftASN1
import X509

extension DeviceAuthority {
    /// A new authority: a root with a P-256 key that signs devices' certificates and no other authority's.
    /// - Parameters:
    ///   - name: its common name.
    ///   - days: for which it is good.
    /// - Returns: certificate and key in PEM.
    package static func create(name: String, days: Int, now: Date = .now) throws -> (certificate: String, key: String) {
        let key = Certificate.PrivateKey(P256.Signing.PrivateKey())
        let subject = try DistinguishedName { CommonName(name) }
        let certificate = try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(bytes: randomSerial()), publicKey: key.publicKey,
            notValidBefore: now.addingTimeInterval(-300), notValidAfter: now.addingTimeInterval(TimeInterval(days) * 86_400),
            issuer: subject, subject: subject,
            extensions: Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
                Critical(KeyUsage(keyCertSign: true, cRLSign: true))
                SubjectKeyIdentifier(hash: key.publicKey)
            },
            issuerPrivateKey: key)
        return (try certificate.serializeAsPEM().pemString + "\n", try key.serializeAsPEM().pemString + "\n")
    }
}
