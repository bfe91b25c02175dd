import CollectorAPI
import Foundation
import SwiftASN1
import TelemetryBasics
import WireModel
import X509

extension CertificateView {
    init(_ certificate: Certificate) {
        self.init()
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

extension CertificatesView.Server {
    init(_ files: TLSFiles) {
        self.init()
        certificateFile = files.certificate
        keyFile = files.key
        guard let clientCA = files.clientCA else { return }
        clientAuthorityFile = clientCA
        // The server has just read and checked the file.
        let text = (try? PEMFile.certificates(clientCA)) ?? ""
        let documents = (try? PEMDocument.parseMultiple(pemString: text)) ?? []
        clientAuthorities = documents.compactMap { try? Certificate(pemDocument: $0) }.map(CertificateView.init)
    }
}
