import JSON

/// What an administrator should know, with what to do about it.
struct NoticesPage: Page {
    let path = "/notices"

    func view(_ visit: Visit) async throws -> Answer {
        let page = try await visit.api.get("/api/v1/notices", visit.query.only(["cursor"]))
        return .view(View("notices", title: "Notices", ["items": page["items"], "next": page["next"]]))
    }
}
