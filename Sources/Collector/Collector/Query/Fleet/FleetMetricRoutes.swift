import CollectorAPI
import Hummingbird
import MetricCatalog
import RecordStore
import Registry
import WireModel

/// The newest values of a metric over the fleet, and their distribution.
struct FleetMetricRoutes: RouteGroup {
    let shared: RouteContext

    /// The most devices examined for one page, and the number per step.
    private static let pageDevices = 5000
    private static let stepDevices = 500
    private static let maximumValues = 2_000_000
    private static let maximumDistributions = 1000

    func add(to router: CollectorRouter) {
        router.people(.viewer)
            .get("/api/v1/metrics/latest", use: latest)
            .get("/api/v1/metrics/distribution", use: distribution)
    }

    /// Devices in the order of their ids. The cursor is the last device examined.
    private func latest(_ request: Request, _ context: PersonContext) async throws -> Response {
        if try QueryParameters.names("sort", in: request) { return try await extremes(request, context) }
        let query = try QueryParameters(
            request, known: LatestValues.parameters.union(ValueRange.parameters).union(["limit", "cursor"]),
            repeated: LatestValues.repeatedParameters)
        let (latest, limit, range) = (try LatestValues(query, store: store), try query.limit(), try ValueRange(query))
        let devices = try await metadata.deviceIDs(
            organization: context.person.organization, withTest: try query.flag("test"))
        var rest = devices[...]
        if let cursor = try query.cursor() {
            guard let last = cursor.device else { throw Problem.invalidParameter("cursor", "belongs to another list.") }
            rest = devices[devices.partitioningIndex { ($0.high, $0.low) > (last.high, last.low) }...]
        }
        let end = min(rest.startIndex + Self.pageDevices, rest.endIndex)
        var items: [LatestValueView] = []
        while items.count < limit, rest.startIndex < end {
            try Task.checkCancellation()
            let step = rest.prefix(min(limit - items.count, Self.stepDevices, end - rest.startIndex))
            let values = try await latest.values(of: step).compactMapValues { $0.within(range) }
            items += try await views(of: step.compactMap { values[$0] })
            rest = rest.dropFirst(step.count)
        }
        let next = rest.isEmpty ? nil : PageCursor(device: devices[rest.startIndex - 1], before: nil).text
        return try Page(items: items, next: next).response().naming(missing: store.unreadableFiles(of: .sample))
    }

    /// The devices with the least or the greatest values, of all.
    private func extremes(_ request: Request, _ context: PersonContext) async throws -> Response {
        let query = try QueryParameters(
            request, known: LatestValues.parameters.union(ValueRange.parameters).union(["limit", "sort"]),
            repeated: LatestValues.repeatedParameters)
        let (latest, limit, range) = (try LatestValues(query, store: store), try query.limit(), try ValueRange(query))
        let isDescending: Bool
        switch query.text("sort") {
        case "value": isDescending = false
        case "-value": isDescending = true
        default: throw Problem.invalidParameter("sort", "is \(query.text("sort") ?? ""); expected value or -value.")
        }
        let devices = try await metadata.deviceIDs(
            organization: context.person.organization, withTest: try query.flag("test"))
        let place = try context.acquirePlace(in: scans, for: "fleet queries")
        defer { place.giveBack() }
        var rest = devices[...]
        var first: [LatestValue] = []
        var total = 0
        while !rest.isEmpty {
            try Task.checkCancellation()
            let found = try await latest.values(of: rest.prefix(Self.stepDevices)).values.compactMap {
                $0.within(range)
            }
            total += found.count
            first += found
            first.sort { $0.precedes($1, isDescending: isDescending) }
            first = Array(first.prefix(limit))
            rest = rest.dropFirst(Self.stepDevices)
        }
        return try Page(items: try await views(of: first), next: nil, total: total).response()
            .naming(missing: store.unreadableFiles(of: .sample))
    }

    private func views(of values: [LatestValue]) async throws -> [LatestValueView] {
        let names = try await metadata.names(of: Set(values.map(\.record.device)))
        return values.map { LatestValueView($0, name: names[$0.record.device]) }
    }

    private func distribution(_ request: Request, _ context: PersonContext) async throws -> Response {
        let query = try QueryParameters(
            request, known: LatestValues.parameters, repeated: LatestValues.repeatedParameters)
        let latest = try LatestValues(query, store: store)
        let devices = try await metadata.deviceIDs(
            organization: context.person.organization, withTest: try query.flag("test"))
        let place = try context.acquirePlace(in: scans, for: "fleet queries")
        defer { place.giveBack() }
        var rest = devices[...]
        var values: [MetricAttributes: [Double]] = [:]
        var definition: MetricDefinition?
        var (counted, found) = (0, 0)
        while !rest.isEmpty {
            try Task.checkCancellation()
            let step = rest.prefix(Self.stepDevices)
            for value in try await latest.values(of: step).values {
                found += 1
                counted += value.points.count
                definition = definition ?? value.points.first?.definition
                for point in value.points { values[point.attributes, default: []].append(point.value) }
            }
            guard values.count <= Self.maximumDistributions, counted <= Self.maximumValues else {
                throw Problem.tooMuch(
                    """
                    There are more than \(Self.maximumDistributions) attribute sets or \(Self.maximumValues) values. \
                    Ask for one `attribute`.
                    """)
            }
            rest = rest.dropFirst(step.count)
        }
        return try DistributionView(metric: latest.metric, definition: definition, devices: found, values: values)
            .response()
            .naming(missing: store.unreadableFiles(of: .sample))
    }
}

extension [DeviceID] {
    /// The first position for which the condition holds. It must hold for all after it.
    fileprivate func partitioningIndex(_ holds: (DeviceID) -> Bool) -> Int {
        var (low, high) = (startIndex, endIndex)
        while low < high {
            let middle = low + (high - low) / 2
            if holds(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
