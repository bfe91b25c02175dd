import CollectorAPI
import CollectorStore
import Foundation
import Hummingbird
import TelemetryBasics
import WireModel

/// Lists what an administrator should know, newest first.
struct NoticeRoutes: Sendable {
    let notices: NoticeService

    func add(to router: CollectorRouter) { router.people(.viewer).get("/api/v1/notices", use: list) }

    private func list(_ request: Request, _ context: PersonContext) async throws -> Response {
        let query = try QueryParameters(request, known: ["subject", "limit", "cursor"])
        let page = try await notices.page(
            organization: context.person.organization, subject: query.text("subject"), below: try query.numberCursor(),
            limit: try query.limit())
        return try Page(items: page.rows.map(NoticeView.init), next: page.next.map(NumberCursor.text)).response()
    }
}

package struct NoticeView: Encodable {
    var id: String
    var code: String
    var organization: String
    var subject: String
    var detail: String
    var count: Int
    var firstAt: String
    var lastAt: String
    /// When it ended; absent while it lasts, or if it has no end.
    var endedAt: String?
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
        count = row.count
        firstAt = Timestamp.text(row.first)
        lastAt = Timestamp.text(row.last)
        endedAt = row.ended.map(Timestamp.text)
    }
}
