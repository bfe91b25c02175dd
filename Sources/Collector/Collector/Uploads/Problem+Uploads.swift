import CollectorStore
import WireModel

extension Problem {
    static func invalidManifest(_ detail: String) -> Problem {
        Problem(status: 422, code: "manifest-invalid", title: "Manifest invalid", detail: detail, scope: .record)
    }

    static func ofUpload(_ error: UploadError) -> Problem {
        switch error {
        case .unknownUpload:
            Problem(
                status: 404, code: Code.uploadUnknown, title: "Upload unknown",
                detail: "This device has begun no such upload. Begin it with PUT /api/v1/uploads/{upload}.", scope: .record)
        case .unknownChunk:
            Problem(
                status: 404, code: "chunk-unknown", title: "Chunk unknown", detail: "The upload's manifest has no chunk of this number.",
                scope: .record)
        case .manifestDiffers:
            Problem(
                status: 409, code: Code.manifestDiffers, title: "Manifest differs",
                detail: "The upload was begun with another manifest. Begin one with an id of its own.", scope: .record)
        case .expired:
            Problem(
                status: 409, code: Code.uploadExpired, title: "Upload expired",
                detail: "The upload is over: what has not come is not taken any more. Begin another.", scope: .record)
        case .damaged(let detail):
            Problem(
                status: 422, code: Code.chunkDamaged, title: "Chunk damaged", detail: detail + " Send it again.", retryable: true,
                scope: .record)
        case .tooMany(let limit):
            Problem(
                status: 429, code: "too-many-uploads", title: "Too many uploads",
                detail: "As many uploads of this device are open as may be (\(limit)). Complete them first.", retryable: true,
                scope: .device, retryAfterMs: 60_000, limit: limit)
        case .quotaExceeded(let used, let limit):
            Problem(
                status: 507, code: Code.logQuotaExceeded, title: "Log quota exceeded",
                detail:
                    "\(used) of \(limit) bytes of logs are kept for this organization and application. Keep the chunk and try again later.",
                retryable: true, scope: .collector, retryAfterMs: 3_600_000, limit: limit)
        case .organizationQuotaExceeded(let used, let limit):
            Problem(
                status: 507, code: Code.logQuotaExceeded, title: "Log quota exceeded",
                detail:
                    "\(used) of \(limit) bytes of logs are kept for this organization, all applications together. Keep the chunk and "
                    + "try again later.",
                retryable: true, scope: .collector, retryAfterMs: 3_600_000, limit: limit)
        case .tooManyApplications(let ofDevice, let limit):
            Problem(
                status: 507, code: "too-many-applications", title: "Too many applications",
                detail: "Logs of as many applications as may be (\(limit)) are kept or on their way "
                    + "\(ofDevice ? "from this device" : "for this organization"), and this is another one. Keep the logs and try again later.",
                retryable: true, scope: ofDevice ? .device : .collector, retryAfterMs: 3_600_000, limit: limit)
        case .store(let error): ofStore(error)
        }
    }
}
