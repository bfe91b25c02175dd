import CollectorAPI
import Foundation
import Hummingbird
import Logging
import Registry
import TelemetryBasics
import WireModel

/// Lists what an administrator should know, newest first, and mutes what somebody knows already. Viewers read,
/// operators mute.
struct NoticeRoutes: RouteGroup {
    let shared: RouteContext
    private static let longestMute: Int64 = 366 * CivilDate.microsecondsPerDay

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
        var view = NoticesView()
        view.items = page.rows.map(NoticeView.init)
        view.next = page.next.map(NumberCursor.text)
        view.openCount = try await notices.openCount(organization: organization)
        return try view.response()
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

extension NoticeView {
    /// The body of a webhook; `openapi.yaml` describes it under `webhooks`.
    /// - Parameter collector: the sender, because one receiver may serve several collectors.
    package static func json(of news: NoticeNews, collector: CollectorID) throws -> Data {
        var view = NoticeView(news.notice)
        view.event = news.kind.rawValue
        view.collector = collector.description
        return try JSONEncoder.stable().encode(view)
    }

    init(_ row: NoticeRow) {
        self.init()
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

extension NoticeView.Mute {
    fileprivate init(_ mute: NoticeMute) {
        self.init()
        by = mute.by
        at = Timestamp.text(mute.at)
        until = mute.until.map(Timestamp.text)
    }
}
