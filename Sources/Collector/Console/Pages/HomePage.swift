import JSON

/// The fleet at a glance.
struct HomePage: Page {
    let path = "/"

    static let states = ["reporting", "late", "silent", "enrolled", "left", "revoked"]

    func view(_ visit: Visit) async throws -> Answer {
        var counts: [JSONValue] = []
        for state in Self.states {
            let devices = try await visit.api.get("/api/v1/devices", [("state", state), ("limit", "1")])
            counts.append(["state": .text(state), "devices": devices["total"]])
        }
        let notices = try await visit.api.get("/api/v1/notices", [("limit", "100")])
        let open = notices.pageItems.filter { $0["endedAt"] == .null }
        return .view(View("home", title: "Home", ["states": .array(counts), "notices": .array(open)]))
    }
}
