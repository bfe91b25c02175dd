import JSON

/// Versions and licences.
struct AboutPage: Page {
    let path = "/about"

    func view(_: Visit) async throws -> Answer { .view(View("about", title: "About")) }
}
