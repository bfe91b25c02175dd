import CollectorAPI
import Foundation
import Hummingbird
import Logging
import RecordStore
import Registry
import TelemetryBasics
import WireModel

/// Shows which records are kept, and removes records early. A day's file contains the records of all organizations, so
/// this is for administrators of all organizations. An organization deletes its own logs with `DELETE /api/v1/logs`.
struct RetentionRoutes: RouteGroup {
    let shared: RouteContext

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
                """
                Records of all organizations are kept and removed together; the token belongs to \
                \(person.organization ?? "").
                """
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
        var view = ReleaseView()
        (view.released, view.waited) = (waited != nil, waited)
        return try view.response()
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

extension Problem {
    fileprivate static let purgeWaiting = Problem(
        status: 409, code: .purgeWaiting, title: "Another purge waits",
        detail: "Another purge runs within ten seconds. Check `GET /api/v1/retention`, then ask again.",
        retryable: true, retryAfterMs: 10_000)
}

extension RetentionView {
    package init(_ status: RetentionService.Status) {
        self.init()
        streams = status.streams.map { stream in
            var shown = Stream()
            shown.stream = "\(stream.stream)"
            (shown.files, shown.bytes) = (stream.files, stream.bytes)
            (shown.oldest, shown.newest) = (stream.oldest?.description, stream.newest?.description)
            shown.removedFiles = stream.removedFiles
            return shown
        }
        waiting = status.waiting
        waitingSince = status.waitingSince.map(Timestamp.text)
        purge = status.purge.map { purge in
            var shown = Purge()
            (shown.id, shown.state) = (purge.id, purge.state.rawValue)
            (shown.removedFiles, shown.failure) = (purge.removedFiles, purge.failure)
            return shown
        }
    }
}

extension PurgeView {
    init(_ plan: PurgePlan, purge: String? = nil) {
        self.init()
        asked = purge != nil
        streams = plan.streams.map { stream in
            var shown = Stream()
            shown.stream = "\(stream.stream)"
            (shown.files, shown.bytes) = (stream.files, stream.bytes)
            (shown.oldest, shown.newest) = (stream.oldest.description, stream.newest.description)
            return shown
        }
        files = plan.files.count
        bytes = plan.files.reduce(0) { $0 + $1.bytes }
        confirm = asked ? nil : plan.confirmation
        self.purge = purge
    }
}
