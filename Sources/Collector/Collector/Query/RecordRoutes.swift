import CollectorAPI
import Hummingbird
import RecordStore
import Registry
import WireModel

/// Lists beacons, events and samples of one, several or all devices, for exports.
struct RecordRoutes: RouteGroup {
    let shared: RouteContext

    /// The most devices that one list names.
    private static let maximumDevices = 50

    func add(to router: CollectorRouter) { router.people(.viewer).get("/api/v1/records", use: records) }

    private func records(_ request: Request, _ context: PersonContext) async throws -> Response {
        let query = try QueryParameters(
            request,
            known: [
                "stream", "kind", "module", "application", "device", "from", "to", "test", "metrics", "limit", "cursor",
            ],
            repeated: ["device"])
        let stream = try query.choice("stream", StreamName.allCases.map { ("\($0)", $0) })
        guard let stream else {
            throw Problem.invalidParameter(
                "stream", "is not given. Known: \(StreamName.allCases.map { "\($0)" }.joined(separator: ", ")).")
        }
        let withTest = try query.flag("test")
        let records = RecordQuery(
            try await devices(query, context, withTest: withTest), stream: stream, kinds: try kinds(query, stream),
            module: query.text("module"), application: query.text("application"),
            times: RecordTimes(from: try query.time("from"), to: try query.time("to")), withTest: withTest)
        return try await RecordListing(
            store: store, query: records, role: context.person.role, limit: try query.limit(),
            withMetrics: try query.flag("metrics"), withKind: true, device: nil, names: metadata.names
        ).response(from: try query.cursor())
    }

    /// Results of commands are shown with their commands alone.
    private func kinds(_ query: QueryParameters, _ stream: StreamName) throws(Problem) -> Set<Int> {
        guard let text = query.text("kind") else {
            return stream == .status ? [WireRecordKind.beacon.rawValue] : []
        }
        guard let kind = RecordKindName.kind(text), let owner = RecordKindName.stream(of: kind),
            kind != WireRecordKind.commandResult.rawValue
        else {
            throw .invalidParameter(
                "kind", "is \(text); expected beacon, event, otlp-log, otlp-metrics, or sample- with a module's kind.")
        }
        guard owner == stream else { throw .invalidParameter("kind", "is \(text), which is in stream \(owner).") }
        return [kind]
    }

    private func devices(
        _ query: QueryParameters, _ context: PersonContext, withTest: Bool
    ) async throws -> RecordQuery.Devices {
        let organization = context.person.organization
        let named = query.texts("device")
        guard !named.isEmpty else {
            return .among(Set(try await metadata.deviceIDs(organization: organization, withTest: withTest)))
        }
        guard named.count <= Self.maximumDevices else {
            throw Problem.invalidParameter(
                "device", "is given \(named.count) times, of at most \(Self.maximumDevices).")
        }
        var devices: Set<DeviceID> = []
        for text in named {
            guard let id = DeviceID(text) else {
                throw Problem.invalidParameter("device", "is not a device id (a UUID).")
            }
            guard let device = try await metadata.device(id, organization: organization) else { throw Problem.noDevice }
            if withTest || !device.test { devices.insert(id) }
        }
        if devices.count == 1, let device = devices.first { return .one(device) }
        return .among(devices)
    }
}
