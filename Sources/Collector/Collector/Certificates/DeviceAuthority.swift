import CollectorAPI
import Crypto
import CryptoExtras
import Foundation
import Registry
import SwiftASN1
import TelemetryBasics
import WireModel
import X509

/// The authority that issues client certificates for devices, from the configured files.
///
/// The certificate file begins with the issuing authority. If that is no root, the authorities up to a root follow.
/// Further certificates in the file are trusted and issue nothing: for instance a former authority with certificates
/// still in use. Files are read at the start; changes need a restart. Safe from any thread.
package struct DeviceAuthority: Sendable {
    /// The validity of a device's certificate in days.
    package static let validDays = 1...1095
    package static let defaultValidDays = 90
    /// A device's clock may be this many seconds behind.
    private static let slackSeconds: TimeInterval = 300

    private let issuer: Certificate
    private let key: Certificate.PrivateKey
    /// The path from the issuer up to a root.
    private let path: [Certificate]
    /// The validity of a device's certificate.
    let days: Int
    /// The file's name for messages and notices.
    let file: String

    /// - Parameters:
    ///   - certificate: PEM file.
    ///   - key: PEM file with the private key of the first certificate.
    ///   - days: validity of a device's certificate, limited by the authority's own end.
    /// - Throws: `invalidConfiguration` if a file is unreadable, if key and certificate do not match, or if the
    ///   certificate is not an authority's. An expired authority is accepted: it issues nothing and its certificates
    ///   are refused, but people are admitted.
    package init(certificate: String, key: String, days: Int = defaultValidDays) throws(CollectorError) {
        let found = try Self.load("--device-ca-certificate", certificate) { path in
            try PEMDocument.parseMultiple(pemString: PEMFile.certificates(path)).map {
                try Certificate(pemDocument: $0)
            }
        }
        guard let first = found.first else {
            throw CollectorError(
                .invalidConfiguration, "--device-ca-certificate \(certificate) has no certificate. Give a PEM file.")
        }
        self.key = try Self.load("--device-ca-key", key) { path in
            try Certificate.PrivateKey(pemEncoded: PEMFile.privateKey(path))
        }
        guard self.key.publicKey == first.publicKey else {
            throw CollectorError(
                .invalidConfiguration,
                """
                --device-ca-key \(key) is not the key of the first certificate in \(certificate). Give a certificate \
                and its key.
                """
            )
        }
        guard Self.mayIssue(first) else {
            throw CollectorError(
                .invalidConfiguration,
                """
                the first certificate in \(certificate) may not sign others. Create an authority with `ws1collector \
                device-ca create`.
                """
            )
        }
        issuer = first
        path = try Self.path(from: first, in: found, file: certificate)
        self.days = days
        file = certificate
    }

    private static func load<Value>(_ flag: String, _ path: String, _ read: (String) throws -> Value)
        throws(CollectorError) -> Value
    {
        do { return try read(path) } catch {
            let words = FileFault(path).words(otherwise: "it does not contain the expected PEM")
            throw CollectorError(
                .invalidConfiguration, "\(flag) \(path) cannot be used: \(words). Give a readable PEM file.",
                cause: error)
        }
    }

    private static func mayIssue(_ certificate: Certificate) -> Bool {
        guard case .isCertificateAuthority? = try? certificate.extensions.basicConstraints else { return false }
        guard let usage = try? certificate.extensions.keyUsage else { return true }
        return usage.keyCertSign
    }

    private static func path(from issuer: Certificate, in found: [Certificate], file: String) throws(CollectorError)
        -> [Certificate]
    {
        var path = [issuer]
        var top = issuer
        while top.issuer != top.subject {
            guard path.count < found.count,
                let next = found.first(where: { $0.subject == top.issuer && $0.publicKey != top.publicKey })
            else {
                throw CollectorError(
                    .invalidConfiguration,
                    """
                    \(file) contains no root certificate above \(top.subject), so clients cannot be verified. Append \
                    the authorities above it.
                    """
                )
            }
            path.append(next)
            top = next
        }
        return path
    }

    /// The earliest end in the chain above devices' certificates, in microseconds since 1970.
    package var expires: Int64 { path.map { Self.microseconds($0.notValidAfter) }.min() ?? 0 }

    /// The facts for people who look at it: from the issuer up to a root.
    var facts: [CertificateView] { path.map(CertificateView.init) }

    /// The certificates that are watched for notices.
    package var watched: [WatchedCertificate] {
        path.map {
            WatchedCertificate(
                name: "device-ca-certificate \(file)", serial: Data($0.serialNumber.bytes).hexadecimal,
                expires: Self.microseconds($0.notValidAfter))
        }
    }

    /// Issues a client certificate for the device. Only the key comes from the request.
    /// - Parameter now: microseconds since 1970.
    /// - Returns: `nil` if the authority itself has expired.
    func issue(_ request: SigningRequest, to device: DeviceID, of organization: String, at now: Int64) throws
        -> IssuedCertificate?
    {
        guard now < expires else { return nil }
        let serial = Self.randomSerial()
        let start = Date(timeIntervalSince1970: TimeInterval(now / 1_000_000) - Self.slackSeconds)
        // Certificates have whole seconds.
        let end = min(now / 1_000_000 + Int64(days) * 86_400, expires / 1_000_000)
        let certificate = try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(bytes: serial), publicKey: request.key,
            notValidBefore: start,
            notValidAfter: Date(timeIntervalSince1970: TimeInterval(end)), issuer: issuer.subject,
            subject: DistinguishedName {
                OrganizationName(organization)
                CommonName("\(device)")
            },
            extensions: Certificate.Extensions {
                Critical(BasicConstraints.notCertificateAuthority)
                Critical(KeyUsage(digitalSignature: true))
                try ExtendedKeyUsage([.clientAuth])
                SubjectAlternativeNames([.uniformResourceIdentifier(DeviceName(device).text)])
                SubjectKeyIdentifier(hash: request.key)
                if let identifier = try issuer.extensions.subjectKeyIdentifier {
                    AuthorityKeyIdentifier(keyIdentifier: identifier.keyIdentifier)
                }
            },
            issuerPrivateKey: key)
        var serializer = DER.Serializer()
        try serializer.serialize(certificate)
        let chain =
            try ([certificate] + path.dropLast()).map { try $0.serializeAsPEM().pemString }.joined(separator: "\n")
            + "\n"
        return IssuedCertificate(
            chain: Data(chain.utf8),
            record: DeviceCertificate(
                fingerprint: Data(SHA256.hash(data: serializer.serializedBytes)), serial: Data(serial), issued: now,
                expires: end * 1_000_000))
    }

    /// 16 random bytes whose first two bits are 01, so the number is positive and of constant length.
    static func randomSerial() -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        var bytes = (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        bytes[0] = bytes[0] & 0x3F | 0x40
        return bytes
    }

    private static func microseconds(_ date: Date) -> Int64 { Int64(date.timeIntervalSince1970) * 1_000_000 }
}

extension DeviceAuthority {
    /// Makes a new authority: a root with a P-256 key that signs devices' certificates and no other authority.
    /// - Parameters:
    ///   - name: its common name.
    ///   - days: its validity.
    /// - Returns: certificate and key in PEM.
    package static func create(name: String, days: Int, now: Date = .now) throws -> (certificate: String, key: String) {
        let key = Certificate.PrivateKey(P256.Signing.PrivateKey())
        let subject = try DistinguishedName { CommonName(name) }
        let certificate = try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(bytes: randomSerial()), publicKey: key.publicKey,
            notValidBefore: now.addingTimeInterval(-300),
            notValidAfter: now.addingTimeInterval(TimeInterval(days) * 86_400), issuer: subject, subject: subject,
            extensions: Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
                Critical(KeyUsage(keyCertSign: true, cRLSign: true))
                SubjectKeyIdentifier(hash: key.publicKey)
            },
            issuerPrivateKey: key)
        return (try certificate.serializeAsPEM().pemString + "\n", try key.serializeAsPEM().pemString + "\n")
    }
}

/// A device's certificate request (PKCS #10) that was checked: the sender holds the key, and the key is strong enough.
///
/// Only the key is used. The collector decides subject, names and extensions, so those in the request are ignored.
struct SigningRequest: Sendable {
    /// The most bytes of a request, in DER. A request with the largest accepted key has about 2,500 bytes.
    static let maximumBytes = 16 * 1024
    static let rsaBits = 2048...8192

    let key: Certificate.PublicKey

    /// - Parameter der: the bytes as received.
    /// - Throws: `Problem` 400; its code names the fault.
    init(der: Data) throws(Problem) {
        guard der.count <= Self.maximumBytes else {
            throw .signingRequest(.csrTooLarge, "It has \(der.count) bytes; the limit is \(Self.maximumBytes).")
        }
        let request: CertificateSigningRequest
        do { request = try CertificateSigningRequest(derEncoded: Array(der)) } catch let error as ASN1Error {
            throw .signingRequest(.csrMalformed, "It is not a PKCS #10 request in DER: \(error).")
        } catch {
            // The form is right, but the library does not support the key.
            throw Self.otherKey
        }
        guard Self.isTaken(request.publicKey) else { throw Self.otherKey }
        guard request.signatureAlgorithm != .sha1WithRSAEncryption,
            request.publicKey.isValidSignature(request.signature, for: request)
        else {
            throw .signingRequest(
                .csrSignature, "Its signature does not match its key, or uses SHA-1. Make it again with that key.")
        }
        key = request.publicKey
    }

    private static let otherKey = Problem.signingRequest(
        .csrKey, "Its key must be P-256, P-384, or RSA with \(rsaBits.lowerBound) to \(rsaBits.upperBound) bits.")

    private static func isTaken(_ key: Certificate.PublicKey) -> Bool {
        if let rsa = _RSA.Signing.PublicKey(key) { return rsaBits.contains(rsa.keySizeInBits) }
        // A certificate with an Ed25519 key could be issued but not used, because TLS signs with it on neither side.
        return P256.Signing.PublicKey(key) != nil || P384.Signing.PublicKey(key) != nil
    }
}

/// A certificate for a device, and what the collector stores of it.
struct IssuedCertificate: Sendable {
    /// PEM: the device's certificate, then the authorities between it and a root.
    let chain: Data
    let record: DeviceCertificate
}

/// The device's name in a certificate: a URI among the alternative names.
struct DeviceName: Sendable {
    private static let prefix = "urn:ws1:device:"

    let device: DeviceID

    init(_ device: DeviceID) { self.device = device }

    /// `nil` for another kind of name.
    init?(_ text: String) {
        guard text.hasPrefix(Self.prefix), let device = DeviceID(String(text.dropFirst(Self.prefix.count))) else {
            return nil
        }
        self.device = device
    }

    var text: String { "\(Self.prefix)\(device)" }
}
