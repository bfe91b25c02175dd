import Foundation
import Hummingbird
import LogArchive
import Logging
import Registry
import TelemetryBasics
import WireModel

/// Receives a device's logs: a fixed manifest, the chunks in any order and any number of times, and a message that
/// these were all. Every answer gives the upload's state on disk.
struct UploadRoutes: RouteGroup {
    let shared: RouteContext
    /// The manifest of the largest upload, with a reserve.
    static let manifestBytes = 512 * 1024
    static let completeBytes = 64 * 1024
    /// An incompressible chunk in gzip members of 64 KiB each, with a reserve.
    static let chunkBytes = LogLimits.chunkBytes + 262_144

    func add(to router: CollectorRouter) {
        let upload = RouterPath(WireNames.uploadsPath + "/{upload}")
        router.devices
            .put(upload, use: begin)
            .get(upload, use: standing)
            .put(upload.appendingPath("chunks/{number}"), use: chunk)
            .post(upload.appendingPath("complete"), use: complete)
    }

    private func begin(_ request: Request, _ context: DeviceContext) async throws -> Response {
        let (device, upload) = (context.device, try Self.upload(context))
        return try await reader.read(request, context, limit: .small(Self.manifestBytes)) { body in
            let wire = try decode(WireUploadManifest.self, body)
            let manifest: UploadManifest
            do throws(WireError) { manifest = try UploadManifest(wire) } catch {
                throw Problem.invalidManifest(error.message)
            }
            guard manifest.upload == upload else {
                throw Problem.invalidManifest("upload_id differs from the one in the path, \(upload).")
            }
            return try await answer(context) { () throws(UploadError) in
                try await metadata.beginUpload(manifest, from: device)
            }
        }
    }

    private func standing(_ request: Request, _ context: DeviceContext) async throws -> Response {
        let (device, upload) = (context.device, try Self.upload(context))
        return try await answer(context) { () throws(UploadError) in
            try await metadata.standing(of: upload, from: device.id)
        }
    }

    private func chunk(_ request: Request, _ context: DeviceContext) async throws -> Response {
        let (device, upload) = (context.device, try Self.upload(context))
        guard let number = Int(try context.parameter("number")), (1...UploadManifest.maximumChunks).contains(number)
        else { throw Problem.ofUpload(.unknownChunk) }
        return try await reader.read(request, context, limit: .gzip(Self.chunkBytes)) { body in
            try await answer(context) { () throws(UploadError) in
                try await archive.store(body, chunk: number, of: upload, from: device.id)
            }
        }
    }

    private func complete(_ request: Request, _ context: DeviceContext) async throws -> Response {
        let (device, upload) = (context.device, try Self.upload(context))
        return try await reader.read(request, context, limit: .small(Self.completeBytes)) { body in
            let wire = try decode(WireCompleteUpload.self, body)
            let gone = wire.gone.map {
                UploadStanding.GoneChunk(number: Int($0.number), reason: DropReason(rawValue: $0.reason.rawValue))
            }
            return try await answer(context) { () throws(UploadError) in
                try await metadata.completeUpload(upload, gone: gone, from: device.id)
            }
        }
    }

    private static func upload(_ context: DeviceContext) throws -> UploadID {
        guard let upload = UploadID(try context.parameter("upload")) else {
            throw Problem.malformed("The upload's id in the path is not a UUID.")
        }
        return upload
    }

    private func answer(
        _ context: DeviceContext, _ body: () async throws(UploadError) -> UploadStanding
    ) async throws -> Response {
        do throws(UploadError) { return try await body().wire(now: context.now).response() } catch {
            if case .store(let failure) = error {
                logger.error("log chunk or manifest not stored", metadata: ["error": "\(failure)"])
            }
            throw Problem.ofUpload(error)
        }
    }
}

extension UploadStanding {
    func wire(now: Int64) -> WireUploadStatus {
        var status = WireUploadStatus()
        status.uploadID = upload.data
        status.missing = missing.map { UInt32($0) }
        status.complete = phase == .complete
        status.expires = expires
        status.state = WireUploadState(rawValue: phase.rawValue) ?? .unspecified
        status.deleted = deleted.map { UInt32($0) }
        status.gone = gone.map { chunk in
            var gone = WireGoneChunk()
            gone.number = UInt32(chunk.number)
            gone.reason = WireDropReason(rawValue: chunk.reason.rawValue) ?? .unspecified
            return gone
        }
        status.storedChunks = UInt32(storedChunks)
        status.storedRawBytes = UInt64(storedRawBytes)
        status.serverTime = now
        return status
    }
}

extension Problem {
    static func invalidManifest(_ detail: String) -> Problem {
        Problem(status: 422, code: .manifestInvalid, title: "Manifest invalid", detail: detail, scope: .record)
    }

    static func ofUpload(_ error: UploadError) -> Problem {
        switch error {
        case .unknownUpload:
            Problem(
                status: 404, code: .uploadUnknown, title: "Upload unknown",
                detail: "This device has not begun this upload. Begin it with PUT /api/v1/uploads/{upload}.",
                scope: .record)
        case .unknownChunk:
            Problem(
                status: 404, code: .chunkUnknown, title: "Chunk unknown",
                detail: "The upload's manifest has no chunk of this number.", scope: .record)
        case .manifestDiffers:
            Problem(
                status: 409, code: .manifestDiffers, title: "Manifest differs",
                detail: "The upload was begun with another manifest. Begin a new upload with a new id.", scope: .record)
        case .expired:
            Problem(
                status: 409, code: .uploadExpired, title: "Upload expired",
                detail: "The upload has expired and accepts no more chunks. Begin another.", scope: .record)
        case .damaged(let detail):
            Problem(
                status: 422, code: .chunkDamaged, title: "Chunk damaged", detail: detail + " Send it again.",
                retryable: true, scope: .record)
        case .tooMany(let limit):
            Problem(
                status: 429, code: .tooManyUploads, title: "Too many uploads",
                detail:
                    "This device has \(CountText.of(limit, "open upload")), which is the limit. Complete them first.",
                retryable: true, scope: .device, retryAfterMs: 60_000, limit: limit)
        case .quotaExceeded(let owner, let used, let limit):
            Problem(
                status: 507, code: .logQuotaExceeded, title: "Log quota exceeded",
                detail:
                    """
                    \(used) of \(limit) bytes of log text are stored for \(owner.text). Keep the chunk and try again \
                    later.
                    """,
                retryable: true, scope: owner == .device ? .device : .collector, retryAfterMs: 300_000, limit: limit)
        case .tooManyApplications(let ofDevice, let limit):
            Problem(
                status: 507, code: .tooManyApplications, title: "Too many applications",
                detail: """
                    Logs of \(CountText.of(limit, "application")) are stored or under way \
                    \(ofDevice ? "from this device" : "for this organization"), which is the limit. Keep the logs and \
                    try again later.
                    """,
                retryable: true, scope: ofDevice ? .device : .collector, retryAfterMs: 300_000, limit: limit)
        case .store(let error): ofStore(error)
        }
    }
}

extension LogQuotaOwner {
    fileprivate var text: String {
        switch self {
        case .application: "this organization and application"
        case .device: "this device, all its applications together"
        case .organization: "this organization, all applications together"
        }
    }
}
