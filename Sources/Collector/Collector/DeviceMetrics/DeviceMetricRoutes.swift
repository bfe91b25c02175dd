import CollectorAPI
import HTTPTypes
import Hummingbird
import NIOCore
import RecordStore
import Registry
import WireModel

/// `/metrics/devices` for Prometheus: the newest values of devices, in its text format or as OpenMetrics.
///
/// Values have no timestamps, so a series ends with the first answer in which it is not. With timestamps Prometheus
/// would end it five minutes later. It would not show a value that is older than five minutes. It would refuse a
/// device's late values as out of order.
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
