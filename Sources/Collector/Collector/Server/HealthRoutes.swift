import Hummingbird
import WireModel

/// The routes for supervisors and load balancers. They need no credential and say only whether the collector is
/// healthy. The reason is in the log, because it names files.
struct HealthRoutes: RouteGroup {
    let shared: RouteContext
    let health: CollectorHealth
    /// Whether the console's files were found.
    let hasConsole: Bool

    private struct Health: Encodable {
        var status: String
        var console: String?
    }

    func add(to router: CollectorRouter) {
        router.anyone
            .get("/livez") { _, _ in try Health(status: "alive").response() }
            .get("/readyz") { _, _ in try await readyz() }
    }

    private func readyz() async throws -> Response {
        guard await !health.look().contains(where: { $0.kind == .notStoring }) else {
            throw Problem.storeUnavailable("The collector cannot store records now; its log says why.")
        }
        // A collector without its console stores records like any other.
        return try Health(status: "ready", console: hasConsole ? "ready" : "missing").response()
    }
}
