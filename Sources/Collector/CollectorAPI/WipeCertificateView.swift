/// The certificate that a device sent with the result of a wipe.
package struct WipeCertificateView: Codable, Equatable, Sendable {
    /// A destroyed key.
    package struct Key: Codable, Equatable, Sendable {
        package var id = 0
        package var purpose = ""
        package var fingerprint = ""

        package init() {}
    }

    /// The device signed it with the key that it registered when it enrolled, and it is about this wipe.
    package var isVerified = false
    /// Why it is not verified.
    package var finding: String?
    package var receivedAt = ""
    /// What the certificate says, if it is one at all. Unless it is verified, anybody may have written that.
    package var method: String?
    /// Who gave the device key.
    package var provider: String?
    package var deviceKeyFingerprint: String?
    package var keys: [Key]?
    /// Destroyed keys that are not listed.
    package var otherKeys: Int?
    package var records: Int64?
    package var logSegments: Int?
    package var begunAt: String?
    package var endedAt: String?
    /// A file for `ws1collector verify-wipe`: the certificate as it arrived, and what the collector knows of it.
    package var file = ""

    package init() {}
}
