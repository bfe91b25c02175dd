import CollectorAPI
import Foundation
import Hummingbird
import Registry
import TelemetryBasics
import WireModel

/// The routes that say what runs here, for bug reports and for who looks after it.
struct AboutRoutes: RouteGroup {
    let shared: RouteContext
    let health: CollectorHealth
    /// Microseconds since 1970.
    let began: Int64

    func add(to router: CollectorRouter) { router.people(.viewer).get("/api/v1/about", use: about) }

    private func about(_ request: Request, _ context: PersonContext) async throws -> Response {
        _ = try QueryParameters(request, known: [])
        let isOfCollector = context.person.organization == nil && context.person.role >= .administrator
        var view = AboutView()
        view.version = CollectorVersion.current
        view.sqliteVersion = metadata.sqliteVersion
        view.operatingSystem = ProcessInfo.processInfo.operatingSystemVersionString
        view.collector = "\(metadata.collectorID)"
        view.startedAt = Timestamp.text(began)
        view.dataDirectory = isOfCollector ? metadata.directoryPath : nil
        view.silenceNoticesFrom = metadata.silenceNoticesFrom.map(Timestamp.text)
        view.troubles = health.troubles.map { trouble in
            var shown = AboutView.Trouble()
            shown.kind = trouble.kind.rawValue
            shown.since = Timestamp.text(trouble.since)
            shown.summary = trouble.summary
            shown.detail = isOfCollector ? trouble.detail : nil
            return shown
        }
        return try view.response()
    }
}
