/// An RFC 9457 problem, the body of every refusal (`application/problem+json`).
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
    /// Stable, in kebab-case: `credential-expired`, `body-too-large`, ...
    package var code: String
    package var retryable: Bool
    package var scope: Scope
    package var retryAfterMs: Int?
    /// The limit that was met, in its own unit.
    package var limit: Int?
    /// The place in the body that is wrong: `sampling.modules[2]`.
    package var field: String?
    /// What the log says besides; it is never sent.
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

    /// Codes a device acts on.
    package enum Code {
        package static let credentialExpired = "credential-expired"
        package static let credentialUnknown = "credential-unknown"
        package static let revoked = "revoked"
        /// The device id is another enrollment's, and the credential does not prove it: enroll as a new device.
        package static let deviceConflict = "device-conflict"
        /// The collector wants a client certificate, or another one than it was shown: enroll again with a request for
        /// one.
        package static let certificateRequired = "certificate-required"
        package static let certificateUnknown = "certificate-unknown"
        package static let certificateExpired = "certificate-expired"
        package static let bodyTooLarge = "body-too-large"
        /// The collector knows no such upload of this device: begin it (again).
        package static let uploadUnknown = "upload-unknown"
        /// The upload was begun with another manifest: mint another id.
        package static let manifestDiffers = "manifest-differs"
        /// What is missing of the upload is not taken any more: begin another.
        package static let uploadExpired = "upload-expired"
        /// The bytes are not those of the manifest; they may come again.
        package static let chunkDamaged = "chunk-damaged"
        /// The organization's logs of this application are as many as they may be: keep the chunk and try again later.
        package static let logQuotaExceeded = "log-quota-exceeded"
    }
}
