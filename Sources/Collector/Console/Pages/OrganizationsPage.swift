import JSON

/// The organizations that the visitor sees.
struct OrganizationsPage: Page {
    let path = "/organizations"

    func view(_ visit: Visit) async throws -> Answer {
        let page = try await visit.api.get("/api/v1/organizations", visit.query.only(["cursor"]))
        return .view(
            View(
                "organizations", title: "Organizations",
                [
                    "items": page["items"], "more": page.more(at: visit),
                    "mayCreate": .boolean(visit.visitor.isCollectorAdministrator),
                ]))
    }

    func perform(_ action: String, _ visit: Visit) async throws -> Outcome? {
        guard action == "create" else { return nil }
        let made = try await visit.api.send(
            "POST", "/api/v1/organizations", body: ["name": .text(visit.form.text("name") ?? "")])
        let name = made["name"].text ?? ""
        return .done(
            "The organization \(name) is there. Devices come to it by an enrollment token.",
            at: "\(path)/\(name.percentEncoded)")
    }
}

/// One organization, and the ways to what belongs to it.
struct OrganizationPage: Page {
    let path = "/organizations/{organization}"

    func view(_ visit: Visit) async throws -> Answer {
        let organization = try await visit.api.get("/api/v1/organizations/\(visit.segment("organization"))")
        return .view(
            View("organization", title: visit.parameter("organization"), ["organization": organization]))
    }
}
