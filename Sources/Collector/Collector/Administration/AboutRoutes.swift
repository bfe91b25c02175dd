import CollectorStore
import Foundation
import Hummingbird
import TelemetryBasics
import WireModel

/// The routes that say what runs here, for bug reports and for who looks after it.
struct AboutRoutes: Sendable {
    let metadata: MetadataService
    let health: CollectorHealth
    /// Microseconds since 1970.
    let began: Int64

    func add(to router: CollectorRouter) { router.people(.viewer).get("/api/v1/about", use: about) }

    private func about(_ request: Request, _ context: PersonContext) async throws -> Response {
        _ = try QueryParameters(request, known: [])
        let isOfCollector = context.person.organization == nil && context.person.role >= .administrator
        return try AboutView(
            version: CollectorVersion.current, sqliteVersion: metadata.sqliteVersion,
            operatingSystem: ProcessInfo.processInfo.operatingSystemVersionString,
            collector: "\(metadata.collectorID)", startedAt: Timestamp.text(began),
            dataDirectory: isOfCollector ? metadata.directoryPath : nil,
            silenceNoticesFrom: metadata.silenceNoticesFrom.map(Timestamp.text),
            troubles: health.troubles.map { trouble in
                AboutView.Trouble(
                    kind: trouble.kind.rawValue, since: Timestamp.text(trouble.since), summary: trouble.summary,
                    detail: isOfCollector ? trouble.detail : nil)
            }
        ).response()
    }
}

private struct AboutView: Encodable {
    var version: String
    var sqliteVersion: String
    var operatingSystem: String
    var collector: String
    var startedAt: String
    /// Only for administrators of all organizations.
    var dataDirectory: String?
    /// When notices about silent devices begin; absent if they have begun.
    var silenceNoticesFrom: String?
    /// The troubles of the collector itself.
    var troubles: [Trouble]

    struct Trouble: Encodable {
        var kind: String
        var since: String
        var summary: String
        /// Only for administrators of all organizations.
        var detail: String?
    }
}
