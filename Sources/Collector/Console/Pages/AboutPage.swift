import JSON
import TelemetryBasics

/// Versions and licences.
struct AboutPage: Page {
    let path = "/about"

    func view(_ visit: Visit) async throws -> Answer {
        let about = try await visit.api.get("/api/v1/about")
        let began = about["startedAt"].text.flatMap { Timestamp.parse($0) }
        return .view(
            View(
                "about", title: "About",
                [
                    "about": about,
                    "runsSeconds": began.map { .integer(max(0, visit.now - $0) / 1_000_000) } ?? .null,
                ]))
    }
}
