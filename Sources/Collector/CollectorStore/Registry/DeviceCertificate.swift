import FoundationEssentials

/// A client certificate that this collector has issued to a device, as it is remembered; the certificate itself is the device's to keep.
///
/// What is remembered here is what is accepted: a device may have several while an answer that carried one may be lost, and the first use of
/// one ends those issued before it. So there is no list of revoked ones: what is not remembered is refused.
package struct DeviceCertificate: Equatable, Sendable {
    /// SHA-256 of the certificate's DER form.
    package var fingerprint: Data
    /// Big-endian, 16 bytes.
    package var serial: Data
    /// Microseconds since 1970 by the collector's clock, as is `expires`.
    package var issued: Int64
    package var expires: Int64
    /// When a device first came with it; `nil`: none has yet.
    package var used: Int64?

    package init(fingerprint: Data, serial: Data, issued: Int64, expires: Int64, used: Int64? = nil) {
        self.fingerprint = fingerprint
        self.serial = serial
        self.issued = issued
        self.expires = expires
        self.used = used
    }
}
