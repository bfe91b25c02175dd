import CollectorAPI
import Hummingbird
import RecordStore
import Registry
import TelemetryBasics
import WireModel

/// How many records come, how much room they need, and when the disk will be full. This describes the whole collector,
/// so only people of all organizations may read it.
struct CapacityRoutes: RouteGroup {
    let shared: RouteContext
    let rate: IngestRate
    let limits: @Sendable () async -> RetentionLimits

    func add(to router: CollectorRouter) { router.people(.viewer).get("/api/v1/capacity", use: capacity) }

    private func capacity(_ request: Request, _ context: PersonContext) async throws -> Response {
        _ = try QueryParameters(request, known: [])
        guard context.person.organization == nil else {
            throw Problem.forbidden("Capacity covers the whole collector, but the token belongs to one organization.")
        }
        let disk = await store.figures().disk
        let estimate = CapacityEstimate(
            try await store.partitions().kept, limits: await limits(), freeBytes: disk?.freeBytes,
            today: UTCDay(microseconds: context.now))
        return try CapacityView(rate.report(), estimate, disk).response()
    }
}

extension CapacityView {
    init(_ ingest: IngestRate.Report, _ estimate: CapacityEstimate, _ disk: StoreFigures.Disk?) {
        self.init()
        self.ingest.recordsPerSecond = ingest.recordsPerSecond
        self.ingest.minutes = ingest.minutes.map { minute in
            var shown = Ingest.Minute()
            (shown.begin, shown.records) = (Timestamp.text(minute.begin), minute.records)
            return shown
        }
        streams = estimate.streams.map(Stream.init)
        bytes = estimate.streams.reduce(0) { $0 + $1.bytes }
        growthDays = estimate.days
        if estimate.days > 0 { bytesPerDay = estimate.streams.reduce(0) { $0 + ($1.bytesPerDay ?? 0) } }
        self.disk = disk.map { Disk($0, estimate.full) }
    }
}

extension CapacityView.Stream {
    fileprivate init(_ estimate: CapacityEstimate.Stream) {
        self.init()
        stream = "\(estimate.stream)"
        (files, bytes, bytesPerDay) = (estimate.files, estimate.bytes, estimate.bytesPerDay)
        (retentionDays, retentionBytes) = (estimate.limits.days, estimate.limits.bytes)
    }
}

extension CapacityView.Disk {
    fileprivate init(_ disk: StoreFigures.Disk, _ full: CapacityEstimate.Full) {
        self.init()
        (freeBytes, sizeBytes) = (disk.freeBytes, disk.sizeBytes)
        switch full {
        case .unknown: self.full = "unknown"
        case .never: self.full = "never"
        case .inDays(let days): (self.full, fullInDays) = ("expected", days)
        }
    }
}
