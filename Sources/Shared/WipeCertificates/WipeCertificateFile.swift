import FoundationEssentials
import WireModel

/// A wipe certificate as a file, with what the collector knows of it. `ws1collector verify-wipe` reads it.
///
/// The certificate is in there as the text that arrived, so nothing can be lost or changed by the file's layout, and a
/// text that is no certificate is kept too.
package struct WipeCertificateFile: Codable, Equatable, Sendable {
    /// What the collector adds. It is not signed.
    package struct Collector: Codable, Equatable, Sendable {
        /// Its id.
        package var id: String
        package var organization: String
        /// The device that reported the certificate.
        package var device: String
        package var command: String
        /// When the certificate arrived; times here are the collector's, in microseconds since 1970.
        package var received: Int64
        /// When the device enrolled with the key, and the id of the token with which it did.
        package var enrolled: Int64?
        package var enrollmentToken: String?
        /// The key that the device registered with that enrollment, 32 bytes; `nil` for none.
        package var key: Data?
        /// Why the certificate was not verified when it arrived; `nil`: it was.
        package var finding: String?

        package init(
            id: String, organization: String, device: String, command: String, received: Int64, enrolled: Int64?,
            enrollmentToken: String?, key: Data?
        ) {
            self.id = id
            self.organization = organization
            self.device = device
            self.command = command
            self.received = received
            self.enrolled = enrolled
            self.enrollmentToken = enrollmentToken
            self.key = key
        }
    }

    /// The most bytes of such a file. JSON in JSON may take six bytes for one.
    package static let maximumBytes = 256 << 10

    package var collector: Collector?
    /// The certificate as it arrived; `nil` if there is none.
    package var document: String?
    /// Why there is none, for people.
    package var remark: String?

    /// What a device prints.
    package init(document: String?, remark: String?) {
        self.document = document
        self.remark = remark
    }

    /// What a collector keeps: a text that arrived from a device, verified. One that is too long is cut.
    ///
    /// - Parameter kind: of the command, as `WipeCertificate.Kind`.
    package init(document: String, kind: String, collector: Collector) {
        var collector = collector
        collector.finding = Self.finding(document, kind: kind, collector: collector)
        self.collector = collector
        self.document =
            document.utf8.count > SignedWipeCertificate.maximumBytes
            ? String(decoding: document.utf8.prefix(SignedWipeCertificate.maximumBytes), as: UTF8.self) : document
    }

    /// Reads a file: of a collector, of a device, or the certificate alone.
    package init(bytes: Data) throws(WipeCertificateError) {
        guard bytes.count <= Self.maximumBytes else {
            throw WipeCertificateError(
                .invalid, "it has \(bytes.count) bytes, and such a file has at most \(Self.maximumBytes)")
        }
        if let file = try? JSONDecoder().decode(Self.self, from: bytes), file.document != nil || file.remark != nil {
            self = file
        } else {
            self.init(document: String(decoding: bytes, as: UTF8.self), remark: nil)
        }
    }

    /// One line of JSON.
    package func encoded() throws -> Data { try JSONEncoder.stable().encode(self) }

    /// Why a text that a device reported is not the certificate of that wipe of that device; `nil`: it is.
    private static func finding(_ document: String, kind: String, collector: Collector) -> String? {
        let signed: SignedWipeCertificate
        do throws(WipeCertificateError) { signed = try SignedWipeCertificate(text: document) } catch {
            return error.message
        }
        let certificate = signed.certificate
        // First what it is about: a certificate of another wipe says nothing of this one, whoever signed it.
        if certificate.device != collector.device { return "it is about another device" }
        if certificate.collector != collector.id { return "it is of an enrollment at another collector" }
        if certificate.organization != collector.organization { return "it is of another organization" }
        if certificate.command != collector.command { return "it is about another wipe" }
        if certificate.kind.rawValue != kind { return "it is about another kind of wipe" }
        guard let key = collector.key else { return "the device registered no key when it enrolled" }
        return signed.key == key ? nil : "it is signed with another key than the device registered when it enrolled"
    }
}
