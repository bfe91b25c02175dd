import CollectorStore
import WireModel

/// A device's client certificate as people see it.
struct DeviceCertificateView: Encodable {
    /// Hexadecimal.
    var serial: String
    var issuedAt: String
    var expiresAt: String
    /// When the device first came with it; absent while it has not.
    var usedAt: String?

    init(_ certificate: DeviceCertificate) {
        serial = certificate.serial.hexadecimal
        issuedAt = Timestamp.text(certificate.issued)
        expiresAt = Timestamp.text(certificate.expires)
        usedAt = certificate.used.map(Timestamp.text)
    }
}
