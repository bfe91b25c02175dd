import CollectorAPI
import CollectorStore
import Foundation
import Hummingbird
import Logging
import TelemetryBasics
import WireModel

/// Shows which records are kept, and removes records early. A day's file contains the records of all organizations, so
/// this is for administrators of all organizations. An organization deletes its own logs with `DELETE /api/v1/logs`.
struct RetentionRoutes: Sendable {
    let metadata: MetadataService
    let store: any RecordStore
    let reader: BodyReader
    let logger: Logger

    func add(to router: CollectorRouter) {
        router.people(.administrator)
            .get("/api/v1/retention", use: status)
            .post("/api/v1/retention/release", use: release)
            .post("/api/v1/records/purge", use: purge)
    }

    private func personOfAll(_ context: PersonContext) throws -> Person {
        let person = context.person
        guard person.organization == nil else {
            throw Problem.forbidden(
                "Records of all organizations are kept and removed together; the token belongs to \(person.organization ?? "")."
            )
        }
        return person
    }

    private func status(_ request: Request, _ context: PersonContext) async throws -> Response {
        _ = try QueryParameters(request, known: [])
        _ = try personOfAll(context)
        return try RetentionView(try await metadata.retention(of: store)).response()
    }

    private func release(_ request: Request, _ context: PersonContext) async throws -> Response {
        _ = try QueryParameters(request, known: [])
        let person = try personOfAll(context)
        let waited = try await metadata.releaseRetention(by: AuditActor(person))
        if waited != nil { logger.notice("retention released", metadata: ["person": "\(person.name)"]) }
        return try ReleaseView(released: waited != nil, waited: waited).response()
    }

    private func purge(_ request: Request, _ context: PersonContext) async throws -> Response {
        _ = try QueryParameters(request, known: [])
        let person = try personOfAll(context)
        return try await reader.read(request, context, limit: .json(BodyReader.fewFieldsBytes)) { body in
            var fields = try FieldReader(body: body)
            let days = try fields.integer("olderThanDays", SharedRanges.days)
            var streams: Set<StreamName> = []
            for (place, name) in try fields.texts("streams").enumerated() {
                guard let stream = StreamName(name: name) else {
                    throw Problem.invalidField("streams[\(place)]", "must be one of status, event, sample.")
                }
                streams.insert(stream)
            }
            let confirmation = try fields.text("confirm")
            try fields.finish()
            guard let days else {
                throw Problem.invalidField("olderThanDays", "is missing: give the least age of the records.")
            }
            let plan = try await metadata.purgePlan(
                of: store, olderThanDays: days, streams: streams.isEmpty ? Set(StreamName.allCases) : streams)
            guard let confirmation else { return try PurgeView(plan).response() }
            guard confirmation == plan.confirmation else { throw Problem.confirmationOutdated }
            guard let purge = try await metadata.purge(plan, by: AuditActor(person)) else {
                throw Problem.purgeWaiting
            }
            logger.notice(
                "purge of records requested",
                metadata: ["purge.id": "\(purge)", "purge.files": "\(plan.files.count)", "person": "\(person.name)"])
            return try PurgeView(plan, purge: purge).response(status: .accepted)
        }
    }
}

private struct ReleaseView: Encodable {
    var released: Bool
    /// The reason for which retention waited.
    var waited: String?
}

extension Problem {
    fileprivate static let purgeWaiting = Problem(
        status: 409, code: .purgeWaiting, title: "Another purge waits",
        detail: "Another purge runs within ten seconds. Check `GET /api/v1/retention`, then ask again.",
        retryable: true, retryAfterMs: 10_000)
}

/// The rules by which records are kept, as administrators see them over HTTP and on the collector's machine.
package struct RetentionView: Encodable {
    struct Stream: Encodable {
        var stream: String
        var files: Int
        var bytes: Int64
        /// A day; absent if there is no file.
        var oldest: String?
        var newest: String?
        var removedFiles: Int
    }

    struct Purge: Encodable {
        var id: String
        var state: String
        var removedFiles: Int
        var failure: String?
    }

    var streams: [Stream]
    /// Why nothing is removed; absent while old records are removed.
    var waiting: String?
    var waitingSince: String?
    /// The last purge; absent if there was none.
    var purge: Purge?

    package init(_ status: RetentionService.Status) {
        streams = status.streams.map { stream in
            Stream(
                stream: "\(stream.stream)", files: stream.files, bytes: stream.bytes,
                oldest: stream.oldest?.description,
                newest: stream.newest?.description, removedFiles: stream.removedFiles)
        }
        waiting = status.waiting
        waitingSince = status.waitingSince.map(Timestamp.text)
        purge = status.purge.map {
            Purge(id: $0.id, state: $0.state.rawValue, removedFiles: $0.removedFiles, failure: $0.failure)
        }
    }
}

/// The records that a purge would remove, or was requested to remove.
struct PurgeView: Encodable {
    struct Stream: Encodable {
        var stream: String
        var files: Int
        var bytes: Int64
        var oldest: String
        var newest: String
    }

    /// Whether the purge was requested. The files are removed within seconds.
    var asked: Bool
    /// The streams that lose records.
    var streams: [Stream]
    var files: Int
    var bytes: Int64
    /// The value to send as `confirm`. Only while nothing is requested.
    var confirm: String?
    /// The purge's id in `GET /api/v1/retention` and in the audit trail.
    var purge: String?

    init(_ plan: PurgePlan, purge: String? = nil) {
        asked = purge != nil
        streams = plan.streams.map { stream in
            Stream(
                stream: "\(stream.stream)", files: stream.files, bytes: stream.bytes, oldest: stream.oldest.description,
                newest: stream.newest.description)
        }
        files = plan.files.count
        bytes = plan.files.reduce(0) { $0 + $1.bytes }
        confirm = asked ? nil : plan.confirmation
        self.purge = purge
    }
}
