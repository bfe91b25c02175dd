/// The page with the runbook: what to do in trouble. `Tools/generate-runbook-page` makes its template from
/// Documentation/runbook.md.
struct RunbookPage: ConsolePage {
    let path = "/runbook"

    func view(_: Visit) async throws -> Answer { .view(View("runbook", title: "Runbook")) }
}
