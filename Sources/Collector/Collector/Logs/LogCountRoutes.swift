import CollectorAPI
import Hummingbird
import LogArchive
import RecordStore
import Registry
import TelemetryBasics
import WireModel

/// Logs in numbers: lines by level and time, and what logs can be filtered by. Viewers read.
struct LogCountRoutes: RouteGroup {
    let shared: RouteContext

    func add(to router: CollectorRouter) {
        router.people(.viewer)
            .get("/api/v1/logs/histogram", use: histogram)
            .get("/api/v1/logs/facets", use: facets)
    }

    private func histogram(_ request: Request, _ context: PersonContext) async throws -> Response {
        let query = try QueryParameters(
            request, known: LogQuery.parameters.union(["step", "exact"]), repeated: LogQuery.repeatedParameters)
        let (step, isExact) = (try SeriesQuery.step(query.text("step")), try query.flag("exact"))
        let logs = try await logQuery(context, query)
        let times = try await metadata.logTimes(logs)
        let buckets = try LogBuckets(logs.lines, of: times, step: step, now: context.now)
        let histogram = try await pages.read(context) { () throws(StoreError) in
            try await archive.histogram(logs, in: buckets, isExact: isExact)
        }
        return try LogHistogramView(histogram).response()
    }

    private func facets(_ request: Request, _ context: PersonContext) async throws -> Response {
        let query = try QueryParameters(request, known: LogQuery.parameters, repeated: LogQuery.repeatedParameters)
        return try LogFacetsView(try await metadata.logFacets(try await logQuery(context, query))).response()
    }
}

extension LogBuckets {
    private static let second: Int64 = 1_000_000
    /// Seconds, of which the least applies that makes at most `standardCount` buckets, or one more as whole steps.
    private static let steps: [Int64] = [
        1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800,
        1_209_600, 2_592_000, 7_776_000, 31_536_000,
    ]
    private static let standardCount: Int64 = 100
    static let maximumCount = 2000

    /// - Parameters:
    ///   - filter: with the borders that were asked for. Without one the border is that of the lines, so that no bucket
    ///     is cut.
    ///   - times: of the lines; `nil` if there are none. Then it is the last day.
    ///   - step: microseconds; `nil` chooses one.
    init(_ filter: LogFilter, of times: ClosedRange<Int64>?, step: Int64?, now: Int64) throws(Problem) {
        let times = times ?? now - 86_400 * Self.second...now
        let from = filter.since ?? min(times.lowerBound, (filter.until ?? .max) - 1)
        let to = max(filter.until ?? max(times.upperBound, from) + 1, from + 1)
        let step = step ?? Self.step(for: to - from)
        let start = filter.since ?? from - Self.remainder(from, step)
        let end = filter.until ?? start + ((to - start - 1) / step + 1) * step
        guard (end - start - 1) / step < Int64(Self.maximumCount) else {
            throw .invalidParameter(
                "step",
                "divides the time into more than \(Self.maximumCount) buckets. Ask for a longer one, or for less time.")
        }
        self.init(from: start, to: end, step: step)
    }

    private static func step(for length: Int64) -> Int64 {
        let step = steps.first { $0 * second * standardCount >= length }
        return (step ?? length / second / standardCount + 1) * second
    }

    /// Never negative.
    private static func remainder(_ time: Int64, _ step: Int64) -> Int64 { ((time % step) + step) % step }
}

extension LogHistogramView {
    init(_ histogram: LogHistogram) {
        self.init()
        let window = histogram.buckets
        from = Timestamp.text(window.from)
        to = Timestamp.text(window.to)
        stepSeconds = window.step / 1_000_000
        exact = histogram.isExact
        let first = min(histogram.firstCounted, window.count)
        countedFrom = first == 0 ? nil : Timestamp.text(min(window.from + Int64(first) * window.step, window.to))
        scannedBytes = histogram.scannedBytes
        for (level, counts) in zip(LogLevel.allCases, histogram.counts) {
            let counted = counts[first...]
            buckets[level.name] = Array(repeating: nil, count: first) + counted.map { $0 }
            total[level.name] = counted.reduce(0, +)
        }
    }
}

extension LogFacetsView {
    init(_ facets: LogFacets) {
        self.init()
        (chunks, lines, bytes) = (facets.chunks, facets.lines, facets.bytes)
        firstTime = facets.times.map { Timestamp.text($0.lowerBound) }
        lastTime = facets.times.map { Timestamp.text($0.upperBound) }
        applications = facets.applications.map { found in
            var facet = Facet(found)
            facet.application = found.value.isEmpty ? nil : found.value
            return facet
        }
        applicationCount = facets.applicationCount
        types = facets.types.map { found in
            var facet = Facet(found)
            facet.type = found.value
            return facet
        }
        levels = facets.levels.map { found in
            var facet = Facet(found)
            facet.level = found.value.name
            return facet
        }
        devices = facets.devices.map { found in
            var facet = Facet(found)
            (facet.device, facet.name) = (found.value.id.description, found.value.name)
            return facet
        }
        deviceCount = facets.deviceCount
    }
}

extension LogFacetsView.Facet {
    fileprivate init<Value>(_ facet: LogFacet<Value>) {
        self.init()
        (chunks, lines, bytes) = (facet.chunks, facet.lines, facet.bytes)
    }
}
