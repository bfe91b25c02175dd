import CollectorAPI
import JSON

/// The profiles of all organizations and their applications.
struct ProfilesPage: ConsolePage {
    let path = "/profiles"

    /// Each organization needs a look at its devices.
    private static let organizationsPerPage = "10"

    func view(_ visit: Visit) async throws -> Answer {
        let page = try await visit.api.call(
            .listOrganizations, visit.query.only(["cursor"]).with("limit", Self.organizationsPerPage))
        var organizations: [JSONValue] = []
        for name in page.items.map(\.name) {
            let newest = try await visit.api.all(.listProfileRevisions(name), [("newest", "true"), ("brief", "true")])
            let adoption = try await visit.api.call(.profileAdoption(name)).items
            let rows = newest.sorted { $0.application ?? "" < $1.application ?? "" }.map { revision in
                let application = revision.application
                let own = adoption.filter { application == nil || $0.application == application }
                return JSONValue.of(revision).with([
                    "address": .text(ProfilePlace(organization: name, application: application).address()),
                    "adoption": ProfileAdoption(own).values,
                ])
            }
            organizations.append(["name": .text(name), "profiles": .array(rows)])
        }
        return .view(
            View(
                "profiles", title: "Profiles",
                ["organizations": .array(organizations), "more": visit.more(page.next)]))
    }
}
