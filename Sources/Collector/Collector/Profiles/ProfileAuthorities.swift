import Foundation
import SwiftASN1
import WireModel
import X509

/// Certificate authorities of a profile, as people give them: PEM, or a certificate in DER as base64.
///
/// An entry may hold several certificates in PEM. The lines of one PEM text may also be entries of their own, as a form
/// with a line per entry sends them.
enum ProfileAuthorities {
    private static let field = "certificateAuthorities"

    /// - Returns: one certificate in DER for each, in their order and each once.
    /// - Throws: `Problem` `invalid-field` with the place, for what is no certificate or no root. Number and size are
    ///   left to `WireProfile.validate`.
    static func read(_ texts: [String]) throws(Problem) -> [Data] {
        var found: [Data] = []
        func take(_ der: [UInt8], _ place: Int) throws(Problem) {
            try check(der, "\(field)[\(place)]")
            if !found.contains(Data(der)) { found.append(Data(der)) }
        }
        var block: (place: Int, text: String)?
        for (place, text) in texts.enumerated() {
            guard block != nil || text.contains("-----BEGIN") else {
                let base64 = text.filter { !$0.isWhitespace }
                guard let der = Data(base64Encoded: base64), !der.isEmpty else {
                    throw .invalidField("\(field)[\(place)]", "is neither PEM nor base64 of a certificate.")
                }
                try take(Array(der), place)
                continue
            }
            let whole = (place: block?.place ?? place, text: (block.map { $0.text + "\n" } ?? "") + text)
            guard isClosed(whole.text) else {
                block = whole
                continue
            }
            block = nil
            for der in try certificates(pem: whole.text, "\(field)[\(whole.place)]") { try take(der, whole.place) }
        }
        if let block {
            throw .invalidField("\(field)[\(block.place)]", "is PEM that is cut off: its END line is missing.")
        }
        return found
    }

    private static func isClosed(_ pem: String) -> Bool {
        pem.components(separatedBy: "-----BEGIN").count == pem.components(separatedBy: "-----END").count
    }

    private static func certificates(pem: String, _ place: String) throws(Problem) -> [[UInt8]] {
        let documents: [PEMDocument]
        do { documents = try PEMDocument.parseMultiple(pemString: pem.replacing("\r\n", with: "\n")) } catch {
            throw .invalidField(place, "is damaged PEM.")
        }
        // A private key in a profile would reach every device.
        guard let other = documents.first(where: { $0.discriminator != "CERTIFICATE" }) else {
            return documents.map(\.derBytes)
        }
        throw .invalidField(place, "holds a \(other.discriminator): give certificates alone.")
    }

    /// Devices build a chain up to a root. One below it would be trusted and make no connection possible.
    private static func check(_ der: [UInt8], _ place: String) throws(Problem) {
        guard let certificate = try? Certificate(derEncoded: der) else {
            throw .invalidField(place, "is no certificate.")
        }
        guard KeyPin.isRoot(certificate) else {
            throw .invalidField(
                place, "is \(certificate.subject), issued by \(certificate.issuer): give the root above it.")
        }
    }
}
