import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import RecordStore
import Registry
import SwiftProtobuf
import TelemetryBasics
import WireModel

/// Receives batches of records and the closing of epochs from devices, and returns marks and news.
struct IngestRoutes: RouteGroup {
    let shared: RouteContext
    /// The largest close request: three streams with 1,024 points each, and a reserve.
    static let closeBytes = 256 * 1024
    static let maximumPoints = 1024

    func add(to router: CollectorRouter) {
        router.devices
            .post(RouterPath(WireNames.batchesPath), use: batches)
            .post(RouterPath(WireNames.closePath), use: close)
            .get(RouterPath(WireNames.commandsPath), use: commands)
            .get(RouterPath(WireNames.profilePath), use: profile)
    }

    private func batches(_ request: Request, _ context: DeviceContext) async throws -> Response {
        let device = context.device
        if let full = metadata.recordRefusal(of: device, at: context.now) { throw Problem.recordQuota(full) }
        return try await reader.read(request, context, limit: .batch) { body in
            guard let structure = BatchStructure(scanning: body) else {
                throw Problem.malformed("The body of \(body.count) bytes is not a BatchRequest.")
            }
            if let problem = structure.problem { throw problem }
            let request: WireBatchRequest
            do throws(WireError) { request = try structure.decode(body) } catch {
                throw Problem.malformed(error.message)
            }
            let batch = try IncomingBatch(request)
            do throws(Problem) {
                try ProductionBound(created: device.created, now: context.now).check(batch.parts)
            } catch { throw refusing(error, of: device) }
            try admit(batch.parts.map(\.epoch), of: device, at: context.now)
            let answers = batch.merge(await store.append(batch.parts, from: device.id, receivedAt: context.now))
            guard answers.contains(where: { $0.outcome != .unavailable }) else {
                // A full disk will not have room in a moment, and all devices receive this answer.
                throw Problem.storeUnavailable(
                    answers.first?.detail ?? "Nothing could be stored.", wait: 4_000_000 + reader.budget.retrySlot())
            }
            reader.metrics.answered(answers)
            let stored = zip(batch.parts, answers).reduce(0) { $0 + ($1.1.outcome == .stored ? $1.0.quotaBytes : 0) }
            metadata.recordStored(stored, of: device, at: context.now)
            let newest = NewestState(parts: batch.parts, answers: answers)
            metadata.seen(
                device.id,
                DeviceObservation(
                    at: context.now, beacon: newest.beacon, made: newest.beaconMade, identity: newest.identity,
                    expectedBeaconSeconds: Self.schedule(request, newest.beacon),
                    profileRevision: request.profileRevision > 0 ? request.profileRevision : nil,
                    test: newest.isBeaconTest,
                    newestRecordTime: newest.newestRecordTime))
            if !newest.commandResults.isEmpty {
                await metadata.recordResults(newest.commandResults, of: device.id, at: context.now)
            }
            var answer = WireBatchAnswer()
            answer.parts = answers.map(\.wire)
            answer.profileRevision = await newestProfileRevision(of: device)
            answer.commands = metadata.openCommands(of: device, at: context.now)
            answer.serverTime = context.now
            answer.durability = store.durability
            answer.doNotDisturb = device.doNotDisturb.wire
            return answer.response()
        }
    }

    /// The device's beacon interval. Only a beacon can say that there is no schedule any more; a batch without a beacon
    /// says nothing.
    private static func schedule(_ request: WireBatchRequest, _ beacon: WireBeacon?) -> UInt32? {
        request.expectedBeaconSeconds > 0 ? request.expectedBeaconSeconds : beacon?.schedule
    }

    /// 0 if it cannot be read. The records are stored, so the answer must not fail; a device ignores a revision that is
    /// not newer.
    private func newestProfileRevision(of device: DeviceRow) async -> UInt64 {
        do { return try await metadata.profileRevision(of: device.profileScope) } catch {
            logger.warning(
                "profile not read", metadata: ["organization": "\(device.organization)", "error": "\(error)"])
            return 0
        }
    }

    private func commands(_ request: Request, _ context: DeviceContext) async throws -> Response {
        var answer = WireCommandsAnswer()
        let device = context.device
        answer.commands = metadata.openCommands(of: device, at: context.now)
        answer.profileRevision = await newestProfileRevision(of: device)
        answer.serverTime = context.now
        answer.doNotDisturb = device.doNotDisturb.wire
        return answer.response()
    }

    private func close(_ request: Request, _ context: DeviceContext) async throws -> Response {
        let device = context.device
        return try await reader.read(request, context, limit: .small(Self.closeBytes)) { body in
            let request = try EpochClose(try decode(WireCloseRequest.self, body), maximumPoints: Self.maximumPoints)
            do throws(Problem) { try ProductionBound(created: device.created, now: context.now).check(request) } catch {
                throw refusing(error, of: device)
            }
            try admit([request.epoch], of: device, at: context.now)
            var answer = WireCloseAnswer()
            answer.epoch = request.epoch.data
            answer.streams = try await store.close(request, from: device.id).map(\.wire)
            answer.serverTime = context.now
            return answer.response()
        }
    }

    /// Limits the epochs that a device may begin, because what the collector knows of an epoch stays for ever.
    private func admit(_ epochs: [EpochID], of device: DeviceRow, at now: Int64) throws(Problem) {
        guard let refusal = metadata.epochRefusal(epochs, of: device, at: now) else { return }
        if refusal.isFirst {
            logger.warning(
                "a device names more epochs than it may in a day",
                metadata: [
                    "device.id": "\(device.id)", "organization": "\(device.organization)", "limit": "\(refusal.limit)",
                ])
        }
        throw .tooManyEpochs(refusal)
    }

    private func refusing(_ problem: Problem, of device: DeviceRow) -> Problem {
        logger.warning(
            "a device claims more records than it can have produced",
            metadata: [
                "device.id": "\(device.id)", "organization": "\(device.organization)",
                "detail": "\(problem.detail ?? "")",
            ])
        return problem
    }

    private func profile(_ request: Request, _ context: DeviceContext) async throws -> Response {
        let profile = try await metadata.deviceProfile(of: context.device.profileScope)
        let tag = RevisionTag(profile.revision)
        var headers: HTTPFields = [.eTag: tag.text, .cacheControl: "private, no-cache"]
        if let field = request.headers[.ifNoneMatch], tag.isAmong(field) {
            return Response(status: .notModified, headers: headers)
        }
        headers[.contentType] = WireNames.protobuf
        return Response(status: .ok, headers: headers, body: .init(byteBuffer: ByteBuffer(bytes: profile.bytes)))
    }
}

/// Decodes a body, or refuses it as malformed.
func decode<Body: Message>(_ type: Body.Type, _ body: Data) throws -> Body {
    do throws(WireError) { return try Body.decode(body) } catch { throw Problem.malformed(error.message) }
}

extension Message {
    func response() -> Response {
        Response(
            status: .ok, headers: [.contentType: WireNames.protobuf, .cacheControl: "no-store"],
            body: .init(byteBuffer: ByteBuffer(bytes: encoded)))
    }
}

extension Problem {
    static func recordQuota(_ full: RecordQuotaRefusal) -> Problem {
        Problem(
            status: 429, code: .recordQuotaExceeded, title: "Quota of records used up",
            detail:
                """
                \(full.isOfDevice ? "This device" : "This device's organization") has stored \(full.bytes) bytes of \
                records today (UTC), and \(full.quota) are allowed a day. Keep further records, and send them later.
                """,
            retryable: true, scope: .device, retryAfterMs: Int(full.wait / 1000), limit: full.quota)
    }

    static func tooManyEpochs(_ refusal: EpochRefusal) -> Problem {
        Problem(
            status: 429, code: .tooManyEpochs, title: "Too many epochs",
            detail:
                """
                This device has named \(CountText.of(refusal.limit, "epoch")) today (UTC), which is the limit. Keep \
                the records, and send them later.
                """,
            retryable: true, scope: .device, retryAfterMs: Int(refusal.wait / 1000), limit: refusal.limit)
    }

    static func ofStore(_ error: StoreError) -> Problem {
        let detail = error.publicMessage
        var problem: Problem =
            switch error.code {
            case .notFound: .notFound(detail)
            case .overloaded: .busy(detail)
            case .invalid: .malformed(detail)
            case .conflict: Problem(status: 409, code: .conflict, title: "Conflict", detail: detail, scope: .stream)
            default: .storeUnavailable(detail)
            }
        problem.cause = "\(error)"
        return problem
    }
}
