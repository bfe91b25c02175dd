import CollectorAPI
import HTTPTypes
import Hummingbird
import NIOCore
import RecordStore
import Registry
import WireModel

/// `/metrics/devices` for Prometheus: the newest values of devices, in its text format or as OpenMetrics.
///
/// Values have no timestamps. With timestamps of its own, Prometheus would end a series that is not shown any more only
/// five minutes later, would not show a value that is older than five minutes at all, and would refuse a device's late
/// values as out of order. Without them a series ends with the first answer in which it is not.
struct DeviceMetricRoutes: RouteGroup {
    let shared: RouteContext
    let values: DeviceMetricReader

    func add(to router: CollectorRouter) { router.people(.scraper).get("/metrics/devices", use: devices) }

    private func devices(_ request: Request, _ context: PersonContext) async throws -> Response {
        let query = try QueryParameters(request, known: ["test"])
        let withTest = try query.flag("test")
        let place = try context.acquirePlace(in: scans, for: "answers to /metrics/devices")
        let format = DeviceMetricText.Format(accept: request.headers[.accept] ?? "")
        let text = try await values.answer(
            context.person.organization, withTest: withTest, as: format, at: context.now)
        let body = ResponseBody { writer in
            defer { place.giveBack() }
            try await text.write { try await writer.write($0) }
            try await writer.finish(nil)
        }
        return Response(
            status: .ok, headers: [.contentType: format.mediaType, .cacheControl: "no-store", .vary: "Accept"],
            body: body
        )
        .naming(missing: store.unreadableFiles(of: .sample))
    }
}
