import CollectorAPI
import Hummingbird
import JSON
import RecordStore
import RecordViews
import Registry
import TelemetryBasics
import WireModel

/// Lists events of the fleet, newest first, and sums them up.
struct EventRoutes: RouteGroup {
    let shared: RouteContext

    /// The most numbers in one answer.
    private static let maximumValues = 1_100_000
    /// The most groups that have the name of their device.
    private static let namedGroups = 1000

    func add(to router: CollectorRouter) {
        router.people(.viewer)
            .get("/api/v1/events", use: events)
            .get("/api/v1/events/summary", use: summary)
    }

    private static let parameters = EventFilter.parameters.union(["device", "application", "from", "to", "test"])

    private func events(_ request: Request, _ context: PersonContext) async throws -> Response {
        let query = try QueryParameters(request, known: Self.parameters.union(["limit", "cursor", "kind"]))
        let times = RecordTimes(from: try query.time("from"), to: try query.time("to"))
        let (limit, cursor, filter) = (try query.limit(), try query.cursor(), try EventFilter(query))
        let listing = RecordListing(
            store: store, query: try await records(query, times, context, kind: try kind(query)),
            role: context.person.role, events: filter,
            limit: limit, device: try query.device("device"), names: metadata.names)
        return try await listing.response(from: cursor)
    }

    private func summary(_ request: Request, _ context: PersonContext) async throws -> Response {
        let query = try QueryParameters(request, known: Self.parameters.union(["step", "by"]))
        let filter = try EventFilter(query)
        let step = try SeriesQuery.step(query.text("step"))
        let window = try SeriesWindow(query, step: step, now: context.now)
        var grouping = EventSummary.Grouping.name
        if let text = query.text("by") {
            guard let found = EventSummary.Grouping(rawValue: text) else {
                let known = EventSummary.Grouping.allCases.map(\.rawValue).joined(separator: ", ")
                throw Problem.invalidParameter("by", "is \(text); expected one of \(known).")
            }
            grouping = found
        }
        let records = try await records(query, RecordTimes(from: window.from, to: window.to), context)
        let place = try context.acquirePlace(in: scans, for: "fleet queries")
        defer { place.giveBack() }
        var summary = EventSummary(window: window, by: grouping)
        do {
            try await RecordPages(store: store, query: records).visit { record in
                guard let event = try? WireEvent.decodeBody(record.header.body(of: record.bytes)), filter.admits(event)
                else { return }
                try summary.add(
                    event, of: record.device, application: record.header.application, at: record.header.wallTime)
            }
        } catch let overflow as EventSummary.Overflow { throw Problem.tooMuch(overflow.detail) }
        guard step == nil || summary.groups.count * window.buckets * 8 <= Self.maximumValues else {
            throw Problem.tooMuch(
                """
                \(summary.groups.count) groups of \(window.buckets) buckets do not fit into one answer. Ask for a \
                longer `step`, or filter.
                """
            )
        }
        var view = EventSummaryView(summary, isStepped: step != nil)
        if grouping == .device {
            // Groups with the most events come first. Pages show few.
            let devices = view.groups.prefix(Self.namedGroups).compactMap { DeviceID($0.key) }
            let names = try await metadata.names(of: Set(devices))
            for (index, device) in devices.enumerated() { view.groups[index].deviceName = names[device] }
        }
        return try view.response().naming(
            missing: store.unreadableFiles(of: .event))
    }

    /// The kind of records that a list shows: events of devices, or log records that came as OTLP.
    private func kind(_ query: QueryParameters) throws -> WireRecordKind {
        guard let text = query.text("kind") else { return .event }
        let kinds = [WireRecordKind.event, .otlpLog]
        guard let found = kinds.first(where: { RecordKindName.text($0.rawValue) == text }) else {
            let known = kinds.map { RecordKindName.text($0.rawValue) }.joined(separator: ", ")
            throw Problem.invalidParameter("kind", "is \(text); expected one of \(known).")
        }
        return found
    }

    private func records(
        _ query: QueryParameters, _ times: RecordTimes, _ context: PersonContext, kind: WireRecordKind = .event
    ) async throws -> RecordQuery {
        let withTest = try query.flag("test")
        let organization = context.person.organization
        let devices: RecordQuery.Devices
        if let id = try query.device("device") {
            guard let device = try await metadata.device(id, organization: organization) else { throw Problem.noDevice }
            devices = withTest || !device.test ? .one(device.id) : .among([])
        } else {
            devices = .among(Set(try await metadata.deviceIDs(organization: organization, withTest: withTest)))
        }
        return RecordQuery(
            devices, stream: .event, kinds: [kind.rawValue], application: query.text("application"),
            times: times, withTest: withTest)
    }
}

/// Selects events by their bodies.
struct EventFilter: Equatable, Sendable {
    var name: String?
    var type: WireEventType?
    /// The value as text: `42` matches that text, integer and real number.
    var value: String?

    static let parameters: Set<String> = ["name", "type", "value"]

    /// - Throws: `Problem` for the invalid parameter.
    init(_ query: QueryParameters) throws {
        name = query.text("name")
        value = query.text("value")
        type = try query.text("type").map { text in
            guard let found = WireEventType.named.first(where: { $0.name == text })?.type else {
                throw Problem.invalidParameter(
                    "type", "is \(text); expected one of \(WireEventType.named.map(\.name).joined(separator: ", ")).")
            }
            return found
        }
    }

    init(name: String? = nil, type: WireEventType? = nil, value: String? = nil) {
        (self.name, self.type, self.value) = (name, type, value)
    }

    var isAll: Bool { self == EventFilter() }

    func admits(_ record: StoredRecord) -> Bool {
        if isAll { return true }
        if record.header.kind == WireRecordKind.otlpLog.rawValue {
            return OTLPView.log(record.header.body(of: record.bytes)).map(admits) ?? false
        }
        return (try? WireEvent.decodeBody(record.header.body(of: record.bytes))).map(admits) ?? false
    }

    /// Log records have none of the types of events.
    private func admits(
        _ log: (name: String, severity: String, value: JSONValue, attributes: [String: JSONValue])
    ) -> Bool {
        var text: String?
        switch log.value {
        case .text(let value): text = value
        case .integer(let value): text = "\(value)"
        case .boolean(let value): text = "\(value)"
        case .real(let real): text = value.flatMap(Double.init) == real ? value : "\(real)"
        default: break
        }
        return type == nil && (name == nil || name == (log.name.isEmpty ? log.severity : log.name))
            && (value == nil || value == text)
    }

    func admits(_ event: WireEvent) -> Bool {
        (name == nil || event.name == name) && (type == nil || event.type == type)
            && value.map { Self.is(event.value, $0) } ?? true
    }

    private static func `is`(_ value: WireValue, _ text: String) -> Bool {
        if case .real(let real) = value.value { return Double(text) == real }
        if case .date(let date) = value.value { return Timestamp.parse(text) == date }
        return value.viewText == text
    }
}
