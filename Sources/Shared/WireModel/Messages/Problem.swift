/// An RFC 9457 problem: the body of every refusal (`application/problem+json`).
package struct Problem: Error, Codable, Equatable, Sendable {
    package enum Scope: String, Codable, Sendable {
        case record, stream, device, collector
    }

    /// `about:blank` unless a page explains it.
    package var type: String
    package var title: String
    package var status: Int
    /// The detail for people: what failed, on what, with which numbers, and what to do.
    package var detail: String?
    /// A ``Code``, or one of a newer collector.
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
        status: Int, code: Code, title: String, detail: String? = nil, retryable: Bool = false,
        scope: Scope = .collector,
        retryAfterMs: Int? = nil, limit: Int? = nil
    ) {
        type = "about:blank"
        self.title = title
        self.status = status
        self.detail = detail
        self.code = code.rawValue
        self.retryable = retryable
        self.scope = scope
        self.retryAfterMs = retryAfterMs
        self.limit = limit
    }

    /// All codes. A code never changes its meaning. The runbook says what follows from each.
    package enum Code: String, CaseIterable, Sendable {
        // Credentials and certificates.
        case credentialUnknown = "credential-unknown"
        case credentialExpired = "credential-expired"
        case revoked, forbidden
        case tokenUsedUp = "token-used-up"
        case tokenRevoked = "token-revoked"
        /// The device id belongs to another enrollment, and the credential does not prove otherwise. Enroll as a new
        /// device.
        case deviceConflict = "device-conflict"
        /// The collector requires a client certificate, or another one than was shown. Enroll again with a certificate
        /// request.
        case certificateRequired = "certificate-required"
        case certificateUnknown = "certificate-unknown"
        case certificateExpired = "certificate-expired"
        case certificateMismatch = "certificate-mismatch"
        case csrMalformed = "csr-malformed"
        case csrTooLarge = "csr-too-large"
        case csrKey = "csr-key"
        case csrSignature = "csr-signature"
        case tooManyFailedAttempts = "too-many-failed-attempts"

        // Requests and bodies.
        case malformed
        case malformedGzip = "malformed-gzip"
        case malformedHTTP = "malformed-http"
        case duplicatePart = "duplicate-part"
        case conflict
        case productionImplausible = "production-implausible"
        /// The device, or its organization, has stored as many bytes of records today as it may. Keep them and try
        /// again later.
        case recordQuotaExceeded = "record-quota-exceeded"
        /// The device has named as many epochs today as it may. Keep the records and try again later.
        case tooManyEpochs = "too-many-epochs"
        /// A token for OTLP has made as many devices today as it may.
        case tooManyDevices = "too-many-devices"
        case invalidParameter = "invalid-parameter"
        case invalidField = "invalid-field"
        case tooMuch = "too-much"
        case notFound = "not-found"
        case methodNotAllowed = "method-not-allowed"
        case bodyTooSlow = "body-too-slow"
        /// Over MQTT: the parts of a request do not fit together, or the collector does not know the request. Send it
        /// again as a new one.
        case partsBroken = "parts-broken"
        case bodyTooLarge = "body-too-large"
        case inflateRatio = "inflate-ratio"
        case unsupportedMediaType = "unsupported-media-type"
        case unsupportedContentEncoding = "unsupported-content-encoding"
        case unsupportedTransferEncoding = "unsupported-transfer-encoding"
        /// The HTTP framework refused the request before the collector saw it.
        case refused

        // Uploads.
        /// The collector does not know this upload of this device. Begin it again.
        case uploadUnknown = "upload-unknown"
        case chunkUnknown = "chunk-unknown"
        case manifestInvalid = "manifest-invalid"
        /// The upload was begun with another manifest. Choose another id.
        case manifestDiffers = "manifest-differs"
        /// The collector no longer accepts the missing chunks. Begin another upload.
        case uploadExpired = "upload-expired"
        /// The bytes differ from the manifest. They may be sent again.
        case chunkDamaged = "chunk-damaged"
        case tooManyUploads = "too-many-uploads"
        /// The organization's quota for this application's logs is used up. Keep the chunk and try again later.
        case logQuotaExceeded = "log-quota-exceeded"
        case tooManyApplications = "too-many-applications"

        // Administration.
        case deviceLeft = "device-left"
        /// The device is a resource of OTLP, which has no agent.
        case deviceWithoutAgent = "device-without-agent"
        case tooManyCommands = "too-many-commands"
        case tooManyJobs = "too-many-jobs"
        /// A job over many devices came to the device after its command had expired.
        case commandExpired = "command-expired"
        /// The device's profile does not allow do-not-disturb.
        case doNotDisturbNotAllowed = "do-not-disturb-not-allowed"
        case idempotencyKeyUsed = "idempotency-key-used"
        case lastAdministrator = "last-administrator"
        case confirmationOutdated = "confirmation-outdated"
        case purgeWaiting = "purge-waiting"
        case preconditionFailed = "precondition-failed"

        // What the collector cannot do now.
        case busy, `internal`
        case storeUnavailable = "store-unavailable"
    }
}
