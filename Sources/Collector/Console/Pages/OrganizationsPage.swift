import CollectorAPI
import JSON

/// The organizations that the visitor sees.
struct OrganizationsPage: ConsolePage {
    let path = "/organizations"

    func view(_ visit: Visit) async throws -> Answer {
        let page = try await visit.api.call(.listOrganizations, visit.query.only(["cursor"]))
        return .view(
            View(
                "organizations", title: "Organizations",
                [
                    "items": .of(page.items), "more": visit.more(page.next),
                    "mayCreate": .boolean(visit.visitor.isCollectorAdministrator),
                ]))
    }

    func perform(_ action: String, _ visit: Visit) async throws -> Outcome? {
        guard action == "create" else { return nil }
        let made = try await visit.api.call(
            .createOrganization, body: ["name": .text(visit.form.text("name") ?? "")])
        return .done(
            "The organization \(made.name) is there. Devices come to it by an enrollment token.",
            at: "\(path)/\(made.name.percentEncoded)")
    }
}

/// One organization, and the ways to what belongs to it.
struct OrganizationPage: ConsolePage {
    let path = "/organizations/{organization}"

    func view(_ visit: Visit) async throws -> Answer {
        let name = visit.parameter("organization")
        let organization = try await visit.api.call(.getOrganization(name))
        return .view(View("organization", title: name, ["organization": .of(organization)]))
    }
}
