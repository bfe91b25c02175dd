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

    package init(
        status: Int, code: String, title: String, detail: String? = nil, retryable: Bool = false, scope: Scope = .collector,
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
        package static let bodyTooLarge = "body-too-large"
    }
}
