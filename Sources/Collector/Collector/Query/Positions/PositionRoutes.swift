import CollectorAPI
import Hummingbird
import RecordStore
import Registry
import WireModel

/// Where a device was: as a list of all reports, and thinned out by time.
struct PositionRoutes: RouteGroup {
    let shared: RouteContext

    /// The most records examined for one page of the list.
    private static let scanBudget = 5000
    private static let pieceRecords = 100

    func add(to router: CollectorRouter) {
        router.people(.viewer).get("/api/v1/devices/{device}/positions", use: positions)
    }

    private func positions(_ request: Request, _ context: PersonContext) async throws -> Response {
        let query = try QueryParameters(
            request, known: ["source", "from", "to", "step", "limit", "cursor", "test"])
        let device = try await knownDevice(context)
        let source = try query.choice("source", LocationReport.Source.allCases.map { ($0.rawValue, $0) }) ?? .sample
        let withTest = try query.flag("test")
        var records = RecordQuery(
            withTest || !device.test ? .one(device.id) : .among([]), stream: source.stream,
            kinds: [source.kind.rawValue],
            times: RecordTimes(from: try query.time("from"), to: try query.time("to")), withTest: withTest)
        let page: Page<PositionView>
        if let step = try SeriesQuery.step(query.text("step")) {
            for name in ["limit", "cursor"] where query.text(name) != nil {
                throw query.invalid(
                    name, "is for the list of all reports. With `step` the answer is whole: leave it out.")
            }
            let window = try SeriesWindow(query, step: step, now: context.now)
            records.times = RecordTimes(from: window.from, to: window.to)
            page = try await track(records, window)
        } else {
            page = try await list(records, of: device.id, try query.cursor(), limit: try query.limit())
        }
        return try page.response().naming(missing: store.unreadableFiles(of: source.stream))
    }

    private func list(
        _ query: RecordQuery, of device: DeviceID, _ cursor: PageCursor?, limit: Int
    ) async throws -> Page<PositionView> {
        if let cursor, cursor.device != device { throw Problem.invalidParameter("cursor", "belongs to another list.") }
        var (items, position, budget) = ([PositionView](), cursor?.before, Self.scanBudget)
        repeat {
            let page: RecordPage
            do throws(StoreError) {
                page = try await store.records(
                    query, before: position, limit: min(limit - items.count, Self.pieceRecords))
            } catch {
                guard error.code == .invalid else { throw error }
                throw Problem.invalidParameter("cursor", "is not one that this collector gave.")
            }
            items += page.records.compactMap { LocationReport($0) }.map { PositionView($0) }
            position = page.next
            // An empty result costs too.
            budget -= max(Self.pieceRecords, page.records.count)
        } while position != nil && items.count < limit && budget > 0
        return Page(items: items, next: position.map { PageCursor(device: device, before: $0).text })
    }

    private func track(_ query: RecordQuery, _ window: SeriesWindow) async throws -> Page<PositionView> {
        var track = LocationTrack(window: window)
        try await RecordPages(store: store, query: query).visit { record in
            if let report = LocationReport(record) { track.add(report) }
        }
        return Page(items: track.reports.map { PositionView($0.report, gap: $0.gap, lostAt: $0.lostAt) }, next: nil)
    }
}

extension LocationReport.Source {
    fileprivate var stream: StreamName {
        switch self {
        case .sample: .sample
        case .beacon: .status
        }
    }

    fileprivate var kind: WireRecordKind {
        switch self {
        case .sample: .sampleGps
        case .beacon: .beacon
        }
    }
}
