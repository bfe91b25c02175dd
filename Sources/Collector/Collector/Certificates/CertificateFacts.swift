import Foundation
import SwiftASN1
import TelemetryBasics
import WireModel
import X509

/// The facts about a certificate that people should know.
package struct CertificateFacts: Encodable, Equatable, Sendable {
    var subject: String
    /// DNS names, addresses and other names that it is for.
    var names: [String]
    var issuer: String
    /// The serial number in hexadecimal.
    var serial: String
    var validFrom: String
    var validUntil: String
    /// Base64 of SHA-256 of its subject public key info; absent if the key's kind is not known.
    var keyPin: String?

    init(_ certificate: Certificate) {
        subject = "\(certificate.subject)"
        issuer = "\(certificate.issuer)"
        let alternatives = (try? certificate.extensions.subjectAlternativeNames).map { Array($0) } ?? []
        names = alternatives.map(Self.text)
        serial = Data(certificate.serialNumber.bytes).hexadecimal
        validFrom = Self.time(certificate.notValidBefore)
        validUntil = Self.time(certificate.notValidAfter)
        keyPin = (try? KeyPin.of(certificate.publicKey))?.base64EncodedString()
    }

    private static func time(_ date: Date) -> String { Timestamp.text(Int64(date.timeIntervalSince1970) * 1_000_000) }

    private static func text(_ name: GeneralName) -> String {
        switch name {
        case .dnsName(let text), .rfc822Name(let text), .uniformResourceIdentifier(let text): text
        case .ipAddress(let octets): address(Array(octets.bytes))
        default: "\(name)"
        }
    }

    /// An address of four or sixteen bytes (RFC 5280, section 4.2.1.6).
    private static func address(_ bytes: [UInt8]) -> String {
        guard bytes.count == 16 else { return bytes.map(String.init).joined(separator: ".") }
        return stride(from: 0, to: 16, by: 2).map {
            String(Int(bytes[$0]) << 8 | Int(bytes[$0 + 1]), radix: 16)
        }.joined(separator: ":")
    }
}

/// The certificates of the server's TLS, and the files that they come from.
package struct ServerCertificates: Encodable, Equatable, Sendable {
    var certificateFile: String
    var keyFile: String
    /// The server's own first.
    var chain: [CertificateFacts] = []
    /// Why the files could not be read again; the former certificate stays in use. Absent if they could.
    var failure: String?
    var clientAuthorityFile: String?
    /// Authorities of the clients that the server admits, as they were read at the start.
    var clientAuthorities: [CertificateFacts]?

    init(_ files: TLSFiles) {
        certificateFile = files.certificate
        keyFile = files.key
        guard let clientCA = files.clientCA else { return }
        clientAuthorityFile = clientCA
        // The server has just read and checked the file.
        let text = (try? PEMFile.certificates(clientCA)) ?? ""
        let documents = (try? PEMDocument.parseMultiple(pemString: text)) ?? []
        clientAuthorities = documents.compactMap { try? Certificate(pemDocument: $0) }.map(CertificateFacts.init)
    }
}
