import CollectorStore
import Foundation
import Hummingbird
import Logging
import TelemetryBasics
import WireModel

/// Lists what an administrator should know, newest first, and mutes what somebody knows already. Viewers read,
/// operators mute.
struct NoticeRoutes: Sendable {
    private static let longestMute: Int64 = 366 * 86_400 * 1_000_000

    let notices: NoticeService
    let reader: BodyReader
    let logger: Logger

    func add(to router: CollectorRouter) {
        router.people(.viewer)
            .get("/api/v1/notices", use: list)
        router.people(.operator)
            .post("/api/v1/notices/{notice}/mute", use: mute)
            .post("/api/v1/notices/{notice}/unmute", use: unmute)
    }

    private func list(_ request: Request, _ context: PersonContext) async throws -> Response {
        let query = try QueryParameters(request, known: ["open", "code", "subject", "limit", "cursor"])
        var filter = NoticeFilter(isOpen: try query.flag("open"), subject: query.text("subject"))
        if let text = query.text("code") {
            guard let code = NoticeRow.Code(rawValue: text) else {
                let known = NoticeRow.Code.allCases.map(\.rawValue).joined(separator: ", ")
                throw Problem.invalidParameter("code", "is \(text); expected one of \(known).")
            }
            filter.code = code
        }
        let organization = context.person.organization
        let page = try await notices.page(
            organization: organization, filter, below: try query.numberCursor(), limit: try query.limit())
        return try NoticesView(
            items: page.rows.map(NoticeView.init), next: page.next.map(NumberCursor.text),
            openCount: try await notices.openCount(organization: organization)
        ).response()
    }

    private func mute(_ request: Request, _ context: PersonContext) async throws -> Response {
        _ = try QueryParameters(request, known: [])
        // Who mutes for good sends no body.
        guard request.headers[.contentType] != nil else { return try await mute(until: nil, context) }
        return try await reader.read(request, context, limit: .json(BodyReader.fewFieldsBytes)) { body in
            var fields = try FieldReader(body: body)
            let until = try fields.time("until")
            try fields.finish()
            if let until {
                guard until > context.now, until <= context.now + Self.longestMute else {
                    throw Problem.invalidField("until", "is not a time within the next 366 days.")
                }
            }
            return try await mute(until: until, context)
        }
    }

    private func mute(until: Int64?, _ context: PersonContext) async throws -> Response {
        let notice = try await notices.mute(
            try Self.notice(context), organization: context.person.organization, until: until,
            by: AuditActor(context.person))
        log("notice muted", notice, context)
        return try NoticeView(notice).response()
    }

    private func unmute(_ request: Request, _ context: PersonContext) async throws -> Response {
        _ = try QueryParameters(request, known: [])
        let notice = try await notices.unmute(
            try Self.notice(context), organization: context.person.organization, by: AuditActor(context.person))
        log("notice unmuted", notice, context)
        return try NoticeView(notice).response()
    }

    private static func notice(_ context: PersonContext) throws -> Int64 {
        guard let id = Int64(try context.parameter("notice")), id > 0 else {
            throw Problem.notFound("There is no such notice, or you do not see it.")
        }
        return id
    }

    private func log(_ message: Logger.Message, _ notice: NoticeRow, _ context: PersonContext) {
        logger.notice(
            message,
            metadata: [
                "notice.code": "\(notice.code.rawValue)", "organization": "\(notice.organization)",
                "person": "\(context.person.name)",
            ])
    }
}

/// A page of notices.
struct NoticesView: Encodable {
    var items: [NoticeView]
    var next: String?
    /// The number of all notices that last and are not muted.
    var openCount: Int

    private enum Key: CodingKey { case items, next, openCount }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(items, forKey: .items)
        // `null` says that this is the last page.
        try container.encode(next, forKey: .next)
        try container.encode(openCount, forKey: .openCount)
    }
}

package struct NoticeView: Encodable {
    struct Mute: Encodable {
        var by: String
        var at: String
        /// When it is over by itself; absent: never.
        var until: String?

        init(_ mute: NoticeMute) {
            by = mute.by
            at = Timestamp.text(mute.at)
            until = mute.until.map(Timestamp.text)
        }
    }

    var id: String
    var code: String
    var organization: String
    var subject: String
    var detail: String
    /// How many records it is about, or how often a history has diverged; absent if it counts neither.
    var amount: Int64?
    /// The streams it is about; absent if it is about none.
    var streams: [String]?
    var count: Int
    var firstAt: String
    var lastAt: String
    /// When it ended; absent while it lasts, or if it has no end.
    var endedAt: String?
    /// Absent if it is not muted.
    var muted: Mute?
    /// The remedy.
    var remedy: String
    /// The section of Documentation/runbook.md about it, as an anchor.
    var runbook: String
    /// `raised` or `ended`, with the collector that reports it. Only in what a webhook receives.
    var event: String?
    var collector: String?

    /// The body of a webhook; `openapi.yaml` describes it under `webhooks`.
    /// - Parameter collector: the sender, because one receiver may serve several collectors.
    package static func json(of news: NoticeNews, collector: CollectorID) throws -> Data {
        var view = NoticeView(news.notice)
        view.event = news.kind.rawValue
        view.collector = collector.description
        return try JSONEncoder.stable().encode(view)
    }

    init(_ row: NoticeRow) {
        id = String(row.id)
        code = row.code.rawValue
        organization = row.organization
        subject = row.subject
        detail = row.detail
        amount = row.amount > 0 ? row.amount : nil
        streams = row.streams.isEmpty ? nil : row.streams.sorted().map(\.description)
        count = row.count
        firstAt = Timestamp.text(row.first)
        lastAt = Timestamp.text(row.last)
        endedAt = row.ended.map(Timestamp.text)
        muted = row.muted.map(Mute.init)
        remedy = row.code.remedy
        runbook = row.code.runbook
    }
}
