import CollectorAPI
import Foundation
import HTTPTypes
import Hummingbird
import MetricCatalog
import RecordStore
import Registry
import TelemetryBasics
import WireModel

/// Samples as series with steps, and the list of metrics.
struct SeriesRoutes: RouteGroup {
    let shared: RouteContext

    /// The most numbers in one answer.
    private static let maximumValues = 1_100_000

    func add(to router: CollectorRouter) {
        router.people(.viewer)
            .get("/api/v1/devices/{device}/samples/series", use: series)
            .get("/api/v1/metrics-catalog", use: catalog)
    }

    func series(_ request: Request, _ context: PersonContext) async throws -> Response {
        let parameters = try QueryParameters(
            request, known: SeriesQuery.parameters, repeated: SeriesQuery.repeatedParameters)
        let device = try await knownDevice(context)
        let query = try SeriesQuery(parameters, now: context.now)
        let accumulator = try await accumulate(query, of: device)
        // A quantile has two bounds.
        let perBucket = query.aggregates.reduce(0) { $0 + ($1.percent == nil ? 1 : 3) }
        let values = accumulator.series.count * query.window.buckets * perBucket
        guard values <= Self.maximumValues else {
            throw Problem.tooMuch(
                """
                \(accumulator.series.count) series of \(query.window.buckets) buckets make \(values) values; one \
                answer has at most \(Self.maximumValues). Ask for a longer `step`, less time, or one `attribute`.
                """)
        }
        return try SeriesView(accumulator, query.aggregates, device: device.id).response()
            .naming(missing: store.unreadableFiles(of: .sample))
    }

    private func accumulate(_ query: SeriesQuery, of device: DeviceRow) async throws -> SeriesAccumulator {
        var accumulator = SeriesAccumulator(window: query.window, attributes: query.attributes)
        guard query.withTest || !device.test else { return accumulator }
        do { _ = try await accumulator.add(query, of: device.id, from: store) } catch let overflow
            as SeriesAccumulator.Overflow
        { throw Problem.ofSeries(overflow) }
        return accumulator
    }

    private func catalog(_ request: Request, _ context: PersonContext) async throws -> Response {
        _ = try QueryParameters(request, known: [])
        return try Page(items: CatalogView.all, next: nil).response()
    }
}

extension SeriesView {
    init(_ accumulator: SeriesAccumulator, _ aggregates: [SeriesAggregate], device: DeviceID) {
        self.init()
        let window = accumulator.window
        self.device = device.description
        from = Timestamp.text(window.from)
        to = Timestamp.text(window.to)
        stepSeconds = window.step / 1_000_000
        buckets = window.buckets
        series = accumulator.series.sorted { Self.order($0.key) < Self.order($1.key) }.map { key, found in
            let values = aggregates.map { aggregate in
                (aggregate.rawValue, (0..<window.buckets).map { found.value(aggregate, in: $0) })
            }
            var series = Series()
            series.metric = key.metric
            series.unit = found.definition.unit
            series.kind = found.definition.kind.name
            series.module = key.module
            series.application = key.application.isEmpty ? nil : key.application
            series.scope = key.origin.scope.isEmpty ? nil : key.origin.scope
            series.instance = key.origin.instance.isEmpty ? nil : key.origin.instance
            series.attributes = key.attributes.json
            series.values = Dictionary(values) { first, _ in first }
            series.quantileBounds = Self.bounds(of: found, aggregates, buckets: window.buckets)
            return series
        }
    }

    /// The bounds of each quantile, as far as they are known; `nil` if no quantile is asked for or has any.
    private static func bounds(
        of series: SeriesAccumulator.Series, _ aggregates: [SeriesAggregate], buckets: Int
    ) -> [String: [[Double?]?]]? {
        guard series.definition.kind.isDistribution, series.definition.kind != .summary else { return nil }
        var found: [String: [[Double?]?]] = [:]
        for aggregate in aggregates {
            guard let percent = aggregate.percent else { continue }
            found[aggregate.rawValue] = (0..<buckets).map { bucket in
                series.buckets[bucket]?.observed?.bounds(ofPercent: percent).map { range in
                    [range.low, range.high].map { $0.isFinite ? $0 : nil }
                }
            }
        }
        return found.isEmpty ? nil : found
    }

    private static func order(_ key: SeriesAccumulator.Key) -> String {
        let attributes = key.attributes.sorted { $0.key < $1.key }.map { "\($0.key)\u{1}\($0.value)" }
        let origin = [key.origin.scope, key.origin.scopeVersion, key.origin.instance, key.kind.name]
        return ([key.metric, key.module, key.application] + origin + attributes).joined(separator: "\u{0}")
    }
}

extension CatalogView {
    /// All metrics of the catalog.
    static let all = CatalogedMetric.all.map { metric -> CatalogView in
        var view = CatalogView()
        view.metric = metric.definition.name
        view.unit = metric.definition.unit
        view.kind = metric.definition.kind.name
        view.module = SampleModuleNames.name(of: metric.kind) ?? ""
        view.description = metric.definition.description
        return view
    }
}

/// Sample modules by their names in records and in the API.
enum SampleModuleNames {
    /// The kind of a module's records. Any other name is a custom module.
    static func kind(of module: String) -> WireRecordKind {
        WireRecordKind.modules.first { $0.name == module }?.kind ?? .sampleCustom
    }

    /// `nil` for custom modules, which have their own names.
    static func name(of kind: WireRecordKind) -> String? {
        WireRecordKind.modules.first { $0.kind == kind }?.name
    }
}
