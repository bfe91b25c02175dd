import JSON

/// Who changed what.
struct AuditPage: Page {
    let path = "/audit"
    let role = Visitor.Role.administrator

    static let filters = ["actor", "action", "subject", "from", "to"]

    func view(_ visit: Visit) async throws -> Answer {
        let query = visit.query.only(Self.filters + ["cursor"])
        let page = try await visit.api.get("/api/v1/audit", query)
        return .view(
            View(
                "audit", title: "Audit trail",
                ["items": page["items"], "more": page.more(at: visit), "isFiltered": .boolean(!query.isEmpty)]))
    }
}

extension JSONValue {
    /// The address of the next page of a list; null at its end.
    func more(at visit: Visit) -> JSONValue {
        guard let next = self["next"].text else { return .null }
        return .text(visit.base + visit.query.with("cursor", next).with("done").address(visit.path))
    }
}
