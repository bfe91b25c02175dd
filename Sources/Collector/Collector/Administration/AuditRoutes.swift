import CollectorAPI
import Foundation
import Hummingbird
import Registry
import TelemetryBasics
import WireModel

/// Lists who changed what, newest first. An organization's administrator sees what concerns that organization.
struct AuditRoutes: RouteGroup {
    let shared: RouteContext

    func add(to router: CollectorRouter) { router.people(.administrator).get("/api/v1/audit", use: list) }

    private func list(_ request: Request, _ context: PersonContext) async throws -> Response {
        let query = try QueryParameters(
            request, known: ["actor", "action", "subject", "from", "to", "limit", "cursor"])
        let page = try await metadata.audit(
            AuditQuery(
                organization: context.person.organization, actor: query.text("actor"),
                action: try query.choice("action", AuditEntry.Action.allCases.map { ($0.rawValue, $0) }),
                subject: query.text("subject"), from: try query.time("from"), to: try query.time("to")),
            below: try query.numberCursor(),
            limit: try query.limit())
        return try Page(items: page.rows.map(AuditView.init), next: page.next.map(NumberCursor.text)).response()
    }
}

extension AuditView {
    init(_ row: AuditRow) {
        self.init()
        let entry = row.entry
        id = String(row.id)
        time = Timestamp.text(row.at)
        actor = entry.actor.name
        token = entry.actor.token
        role = entry.actor.role.map { "\($0)" }
        job = entry.actor.job
        organization = entry.organization.isEmpty ? nil : entry.organization
        action = entry.action.rawValue
        subject = entry.subject
        detail = entry.detail
        outcome = entry.outcome.rawValue
    }
}
