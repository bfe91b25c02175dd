import JSON

/// The profiles of all organizations and their applications.
struct ProfilesPage: Page {
    let path = "/profiles"

    /// Each organization needs a look at its devices.
    private static let organizationsPerPage = "10"

    func view(_ visit: Visit) async throws -> Answer {
        let page = try await visit.api.get(
            "/api/v1/organizations", visit.query.only(["cursor"]).with("limit", Self.organizationsPerPage))
        var organizations: [JSONValue] = []
        for organization in page.pageItems {
            guard let name = organization["name"].text else { continue }
            let place = ProfilePlace(organization: name, application: nil)
            let newest = try await visit.api.all(place.revisions, [("newest", "true"), ("brief", "true")])
            let adoption = try await visit.api.get("\(place.revisions)/adoption").pageItems
            let rows = newest.sorted { $0["application"].text ?? "" < $1["application"].text ?? "" }.map { revision in
                let application = revision["application"].text
                let own = adoption.filter { application == nil || $0["application"].text == application }
                return revision.with([
                    "address": .text(ProfilePlace(organization: name, application: application).address()),
                    "adoption": ProfileAdoption(own).values,
                ])
            }
            organizations.append(["name": .text(name), "profiles": .array(rows)])
        }
        return .view(
            View(
                "profiles", title: "Profiles",
                ["organizations": .array(organizations), "more": page.more(at: visit)]))
    }
}
