import CollectorStore
import Hummingbird
import WireModel

/// For supervisors and load balancers; they need no credential and tell nothing but health.
struct HealthRoutes: Sendable {
    let store: any RecordStore

    private struct Health: Encodable { var status: String }

    var routes: [Route] {
        [
            Route(.get, "/livez", .anyone) { _ in try Health(status: "alive").response() },
            Route(.get, "/readyz", .anyone) { _ in
                switch await store.readiness() {
                case .ready: return try Health(status: "ready").response()
                case .notReady(let reason): throw Problem.storeUnavailable(reason)
                }
            },
        ]
    }
}
