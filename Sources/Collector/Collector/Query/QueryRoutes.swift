import CollectorAPI
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import OTLP
import RecordStore
import Registry
import WireModel

/// Answers questions of people and scripts. Everything is limited to the caller's organization: the devices of others
/// do not exist.
struct QueryRoutes: RouteGroup {
    let shared: RouteContext

    func add(to router: CollectorRouter) {
        router.people(.viewer)
            .get("/api/v1/devices/{device}/beacons", use: beacons)
            .get("/api/v1/devices/{device}/samples", use: samples)
            .get("/api/v1/devices/{device}/otlp", use: otlp)
            .get("/api/v1/devices/{device}/balance", use: balance)
    }

    private func balance(_ request: Request, _ context: PersonContext) async throws -> Response {
        let query = try QueryParameters(request, known: ["limit", "cursor"])
        let device = try await knownDevice(context)
        let after = try query.text("cursor").map { text throws(Problem) in
            guard let epoch = EpochID(text) else {
                throw query.invalid("cursor", "is not one that this collector gave.")
            }
            return epoch
        }
        let page = try await store.balance(of: device.id, after: after, limit: try query.limit())
        let missing = StreamName.allCases.flatMap { store.unreadableFiles(of: $0) }
        var report = BalanceReport([(device.id, page.epochs)], missing: missing)
        report.next = page.next?.description
        if after != nil || page.next != nil { try await report.sum(device.id, in: store) }
        return try report.response().naming(missing: missing)
    }

    // MARK: Records

    private func beacons(_ request: Request, _ context: PersonContext) async throws -> Response {
        let query = try QueryParameters(request, known: ["from", "to", "limit", "cursor", "test"])
        return try await list(query, context, stream: .status, kinds: [WireRecordKind.beacon.rawValue])
    }

    private func samples(_ request: Request, _ context: PersonContext) async throws -> Response {
        // A metric or a step requests a series.
        if try ["metric", "step"].contains(where: { try QueryParameters.names($0, in: request) }) {
            return try await SeriesRoutes(shared: shared).series(request, context)
        }
        let query = try QueryParameters(
            request, known: ["module", "application", "from", "to", "metrics", "limit", "cursor", "test"])
        return try await list(query, context, stream: .sample, kinds: [], withMetrics: try query.flag("metrics"))
    }

    /// What came as OTLP, as it came.
    private func otlp(_ request: Request, _ context: PersonContext) async throws -> Response {
        let query = try QueryParameters(request, known: ["signal", "application", "from", "to", "limit", "cursor"])
        let signal = try query.choice("signal", OTLPSignal.allCases.map { ($0.rawValue, $0) }) ?? .logs
        let (stream, kind): (StreamName, WireRecordKind) =
            switch signal {
            case .logs: (.event, .otlpLog)
            case .metrics: (.sample, .otlpMetrics)
            }
        return try await list(query, context, stream: stream, kinds: [kind.rawValue], asOTLP: true)
    }

    private func list(
        _ query: QueryParameters, _ context: PersonContext, stream: StreamName, kinds: Set<Int>,
        withMetrics: Bool = false, asOTLP: Bool = false
    ) async throws -> Response {
        let device = try await knownDevice(context)
        let withTest = try query.flag("test")
        let records = RecordQuery(
            withTest || !device.test ? .one(device.id) : .among([]), stream: stream, kinds: kinds,
            module: query.text("module"), application: query.text("application"),
            times: RecordTimes(from: try query.time("from"), to: try query.time("to")), withTest: withTest)
        return try await RecordListing(
            store: store, query: records, role: context.person.role, limit: try query.limit(), withMetrics: withMetrics,
            asOTLP: asOTLP, device: device.id
        ).response(from: try query.cursor())
    }
}
