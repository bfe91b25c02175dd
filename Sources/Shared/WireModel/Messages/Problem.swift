/// An RFC 9457 problem: the body of every refusal (`application/problem+json`).
package struct Problem: Error, Codable, Equatable, Sendable {
    package enum Scope: String, Codable, Sendable {
        case record, stream, device, collector
    }

    /// `about:blank` unless a page explains it.
    package var type: String
    package var title: String
    package var status: Int
    /// What failed, on what, with which numbers, and what to do.
    package var detail: String?
    /// Stable, in kebab-case: `credential-expired`, `body-too-large` and so on.
    package var code: String
    package var retryable: Bool
    package var scope: Scope
    package var retryAfterMs: Int?
    /// The limit that was exceeded, in its own unit.
    package var limit: Int?
    /// The field of the body that is wrong: `sampling.modules[2]`.
    package var field: String?
    /// Additional text for the log. Never sent.
    package var cause: String?

    private enum CodingKeys: CodingKey {
        case type, title, status, detail, code, retryable, scope, retryAfterMs, limit, field
    }

    package init(
        status: Int, code: String, title: String, detail: String? = nil, retryable: Bool = false,
        scope: Scope = .collector,
        retryAfterMs: Int? = nil, limit: Int? = nil
    ) {
        type = "about:blank"
        self.title = title
        self.status = status
        self.detail = detail
        self.code = code
        self.retryable = retryable
        self.scope = scope
        self.retryAfterMs = retryAfterMs
        self.limit = limit
    }

    /// Codes that a device acts on.
    package enum Code {
        package static let credentialExpired = "credential-expired"
        package static let credentialUnknown = "credential-unknown"
        package static let revoked = "revoked"
        /// The device id belongs to another enrollment, and the credential does not prove otherwise. Enroll as a new
        /// device.
        package static let deviceConflict = "device-conflict"
        /// The collector requires a client certificate, or another one than was shown. Enroll again with a certificate
        /// request.
        package static let certificateRequired = "certificate-required"
        package static let certificateUnknown = "certificate-unknown"
        package static let certificateExpired = "certificate-expired"
        package static let bodyTooLarge = "body-too-large"
        /// The collector does not know this upload of this device. Begin it again.
        package static let uploadUnknown = "upload-unknown"
        /// The upload was begun with another manifest. Choose another id.
        package static let manifestDiffers = "manifest-differs"
        /// The collector no longer accepts the missing chunks. Begin another upload.
        package static let uploadExpired = "upload-expired"
        /// The bytes differ from the manifest. They may be sent again.
        package static let chunkDamaged = "chunk-damaged"
        /// The organization's quota for this application's logs is used up. Keep the chunk and try again later.
        package static let logQuotaExceeded = "log-quota-exceeded"
    }
}
