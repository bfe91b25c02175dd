import CollectorAPI
import Hummingbird
import MetricCatalog
import RecordStore
import Registry
import TelemetryBasics
import WireModel

/// The spread of a metric over the fleet and over time.
struct FleetSeriesRoutes: RouteGroup {
    let shared: RouteContext

    /// The most records that are read for one answer.
    static let maximumRecords = 2_000_000
    /// After so many devices it is known how many records the others need.
    private static let devicesBeforeEstimate = 50

    func add(to router: CollectorRouter) { router.people(.viewer).get("/api/v1/metrics/series", use: series) }

    private func series(_ request: Request, _ context: PersonContext) async throws -> Response {
        let query = try FleetSeriesQuery(
            try QueryParameters(
                request, known: FleetSeriesQuery.parameters, repeated: FleetSeriesQuery.repeatedParameters),
            now: context.now)
        let devices = try await metadata.groupedDevices(
            organization: context.person.organization, withTest: query.withTest, by: query.grouping)
        let place = try context.acquirePlace(in: scans, for: "fleet queries")
        defer { place.giveBack() }
        let chosen = query.chosen(of: devices)
        let groups = FleetGroup.groups(of: chosen)
        var fleet = FleetSeries(window: query.window, aggregate: query.aggregate)
        var records = 0
        for (number, device) in chosen.enumerated() {
            try Task.checkCancellation()
            var one = SeriesAccumulator(window: query.window, attributes: query.attributes)
            do {
                records += try await one.add(query.ofDevice, of: device.id, from: store)
                try fleet.add(one, to: groups[device.group] ?? .other)
            } catch let overflow as SeriesAccumulator.Overflow {
                throw Problem.ofSeries(overflow)
            } catch let overflow as FleetSeries.Overflow { throw Problem.tooMuch(overflow.detail) }
            if let refusal = Self.refusal(of: records, by: number + 1, over: chosen.count) { throw refusal }
        }
        return try FleetSeriesView(fleet, query, devices: devices.count, looked: chosen.count).response()
            .naming(missing: store.unreadableFiles(of: .sample))
    }

    /// Refuses what has read too many records, or certainly will.
    /// - Parameters:
    ///   - records: read so far, of so many devices.
    ///   - all: how many devices are to be read.
    static func refusal(of records: Int, by devices: Int, over all: Int) -> Problem? {
        let each = max(1, records / devices)
        let isCertain = devices >= devicesBeforeEstimate && each * all > 2 * maximumRecords
        guard records > maximumRecords || isCertain else { return nil }
        return .tooMuch(
            """
            In that time there are about \(CountText.of(each, "sample")) of each of \(CountText.of(all, "device")), \
            and one answer reads \(maximumRecords). Ask for less time, or for a `sample` of about \
            \(CountText.of(max(1, maximumRecords / each), "device")).
            """)
    }
}

extension SeriesAccumulator {
    /// Adds the samples of a device.
    /// - Returns: how many records were read.
    mutating func add(
        _ query: SeriesQuery, of device: DeviceID, from store: any RecordStore
    ) async throws -> Int {
        let selection = query.selection
        var records = 0
        try await RecordPages(store: store, query: query.records(of: device, selection)).visit { record in
            records += 1
            for found in selection.points(of: record) { try add(found.point, at: found.moment, found.distribution) }
        }
        return records
    }
}

extension Problem {
    static func ofSeries(_ overflow: SeriesAccumulator.Overflow) -> Problem {
        switch overflow {
        case .series(let limit):
            .tooMuch("There are more than \(limit) series. Ask for fewer metrics, or for one `attribute`.")
        case .buckets(let limit):
            .tooMuch("More than \(limit) buckets have values. Ask for a longer `step`, less time, or one `attribute`.")
        }
    }
}
