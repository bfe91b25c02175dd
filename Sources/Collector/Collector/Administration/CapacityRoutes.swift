import CollectorStore
import Hummingbird
import TelemetryBasics
import WireModel

/// How many records come, how much room they need, and when the disk will be full. This describes the whole collector,
/// so only people of all organizations may read it.
struct CapacityRoutes: Sendable {
    let store: any RecordStore
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

struct CapacityView: Encodable {
    struct Ingest: Encodable {
        struct Minute: Encodable {
            var begin: String
            var records: UInt64
        }

        /// Absent in the first minute after the start.
        var recordsPerSecond: Double?
        var minutes: [Minute]
    }

    struct Stream: Encodable {
        var stream: String
        var files: Int
        var bytes: Int64
        var bytesPerDay: Int64?
        var retentionDays: Int
        var retentionBytes: Int64?
    }

    struct Disk: Encodable {
        var freeBytes: UInt64
        var sizeBytes: UInt64
        var full: String
        var fullInDays: Int?
    }

    var ingest: Ingest
    var streams: [Stream]
    var bytes: Int64
    /// Absent until there is a whole day of records.
    var bytesPerDay: Int64?
    var growthDays: Int
    /// Absent if the system does not report it.
    var disk: Disk?

    init(_ ingest: IngestRate.Report, _ estimate: CapacityEstimate, _ disk: StoreFigures.Disk?) {
        self.ingest = Ingest(
            recordsPerSecond: ingest.recordsPerSecond,
            minutes: ingest.minutes.map { Ingest.Minute(begin: Timestamp.text($0.begin), records: $0.records) })
        streams = estimate.streams.map {
            Stream(
                stream: "\($0.stream)", files: $0.files, bytes: $0.bytes, bytesPerDay: $0.bytesPerDay,
                retentionDays: $0.limits.days, retentionBytes: $0.limits.bytes)
        }
        bytes = estimate.streams.reduce(0) { $0 + $1.bytes }
        growthDays = estimate.days
        if estimate.days > 0 { bytesPerDay = estimate.streams.reduce(0) { $0 + ($1.bytesPerDay ?? 0) } }
        self.disk = disk.map { Disk(freeBytes: $0.freeBytes, sizeBytes: $0.sizeBytes, estimate.full) }
    }
}

extension CapacityView.Disk {
    fileprivate init(freeBytes: UInt64, sizeBytes: UInt64, _ full: CapacityEstimate.Full) {
        (self.freeBytes, self.sizeBytes) = (freeBytes, sizeBytes)
        switch full {
        case .unknown: self.full = "unknown"
        case .never: self.full = "never"
        case .inDays(let days): (self.full, fullInDays) = ("expected", days)
        }
    }
}
