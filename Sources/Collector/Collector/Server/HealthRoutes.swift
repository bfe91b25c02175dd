import CollectorStore
import Hummingbird
import Logging
import Synchronization
import WireModel

/// For supervisors and load balancers. They need no credential and tell only whether the collector is healthy. The
/// reason is in the log, because it names files.
struct HealthRoutes: Sendable {
    let store: any RecordStore
    let metadata: MetadataService
    /// Whether the console's files were found.
    let hasConsole: Bool
    let logger: Logger
    private let logged = LoggedReason()

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
        for readiness in [await metadata.readiness(), await store.readiness()] {
            guard case .notReady(let reason) = readiness else { continue }
            if logged.isNew(reason) { logger.error("not ready", metadata: ["reason": "\(reason)"]) }
            throw Problem.storeUnavailable("The collector cannot store records now; its log says why.")
        }
        if logged.isNew(nil) { logger.notice("ready again") }
        // A collector without its console stores records like any other.
        return try Health(status: "ready", console: hasConsole ? "ready" : "missing").response()
    }
}

/// The last logged reason, so a lasting reason is logged once however often somebody asks.
private final class LoggedReason: Sendable {
    private let last = Mutex<String?>(nil)

    func isNew(_ reason: String?) -> Bool {
        last.withLock { last in
            defer { last = reason }
            return last != reason
        }
    }
}
