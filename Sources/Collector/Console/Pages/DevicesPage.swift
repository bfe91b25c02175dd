import JSON

/// The list of devices.
struct DevicesPage: Page {
    let path = "/devices"

    static let filters = [
        "state", "os", "agentVersion", "app", "compliance", "compromised", "q", "organization", "enrollmentToken",
    ]

    func view(_ visit: Visit) async throws -> Answer {
        let filters = visit.query.only(Self.filters)
        if visit.query["format"] == "csv" { return .csv(name: "devices.csv", rows: try await rows(visit, filters)) }
        let page = try await visit.api.get("/api/v1/devices", visit.query.only(Self.filters + ["sort", "cursor"]))
        return .view(
            View(
                "devices", title: "Devices",
                [
                    "items": page["items"], "total": page["total"], "more": page.more(at: visit),
                    "isFiltered": .boolean(!filters.isEmpty),
                    "csv": .text(visit.base + filters.with("format", "csv").address(visit.path)),
                ]))
    }

    /// All matching devices, page by page.
    private func rows(_ visit: Visit, _ filters: FormFields) async throws -> [[String]] {
        let columns = [
            "id", "name", "organization", "state", "agentVersion", "application", "profileRevision", "lastSeenAt",
            "enrolledAt",
        ]
        var rows = [columns]
        var query = filters.with("limit", "1000")
        while true {
            let page = try await visit.api.get("/api/v1/devices", query)
            rows += page.pageItems.map { device in columns.map { device[$0].renderText } }
            guard let next = page["next"].text else { return rows }
            query = query.with("cursor", next)
        }
    }
}
