import CollectorAPI
import JSON
import TelemetryBasics

/// Versions and licences.
struct AboutPage: ConsolePage {
    let path = "/about"

    func view(_ visit: Visit) async throws -> Answer {
        let about = try await visit.api.call(.getAbout)
        let began = Timestamp.parse(about.startedAt)
        return .view(
            View(
                "about", title: "About",
                [
                    "about": .of(about),
                    "runsSeconds": began.map { .integer(max(0, visit.now - $0) / 1_000_000) } ?? .null,
                ]))
    }
}
