import CollectorStore
import Hummingbird
import WireModel

/// For supervisors and load balancers; they need no credential and tell nothing but health.
struct HealthRoutes: Sendable {
    let store: any RecordStore
    let registry: any DeviceRegistry

    private struct Health: Encodable { var status: String }

    var routes: [Route] {
        [
            Route(.get, "/livez", .anyone) { _ in try Health(status: "alive").response() },
            Route(.get, "/readyz", .anyone) { _ in
                for readiness in [await registry.readiness(), await store.readiness()] {
                    if case .notReady(let reason) = readiness { throw Problem.storeUnavailable(reason) }
                }
                return try Health(status: "ready").response()
            },
        ]
    }
}
