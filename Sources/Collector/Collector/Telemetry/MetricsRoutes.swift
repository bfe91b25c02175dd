import CollectorStore
import Hummingbird
import NIOCore
import WireModel

/// `/metrics` for Prometheus: what was counted since the start, and the state of this moment. It is of the collector as a whole, so only for people of
/// all organizations.
struct MetricsRoutes: Sendable {
    let registry: PrometheusRegistry
    let devices: any DeviceRegistry
    let store: any RecordStore
    let archive: any LogArchive
    let budget: IngestBudget
    /// When the server's certificate ends, seconds since 1970.
    let certificateExpiry: @Sendable () -> Double?
    let deviceAuthority: DeviceAuthority?
    let noticeCounts: @Sendable () async throws -> NoticeCounts?

    var routes: [Route] { [Route(.get, "/metrics", .person(.viewer), handle: metrics)] }

    private func metrics(_ exchange: Exchange) async throws -> Response {
        _ = try QueryParameters(exchange.request, known: [])
        guard try exchange.person.organization == nil else {
            throw Problem.forbidden("Metrics are of the collector as a whole; the token is of one organization.")
        }
        var samples = ProcessFigures.samples()
        func add(_ name: String, _ labels: [(String, String)] = [], _ value: Double) {
            samples.append(PrometheusSample(name, labels, value: value))
        }
        add("ws1_collector_info", [("version", CollectorVersion.current)], 1)
        let load = budget.load
        add("ws1_ingest_bodies", [], Double(load.bodies))
        add("ws1_ingest_bodies_limit", [], Double(budget.maximumLoad))
        add("ws1_ingest_body_memory_bytes", [], Double(load.bytes))
        add("ws1_ingest_body_memory_limit_bytes", [], Double(budget.maximumBytes))
        add("ws1_store_ready", [], await store.readiness() == .ready ? 1 : 0)
        let figures = await store.figures()
        for stream in figures.streams {
            let labels = [("stream", "\(stream.stream)")]
            add("ws1_store_pipeline_bytes", labels, Double(stream.pipelineBytes))
            add("ws1_store_pipeline_limit_bytes", labels, Double(stream.pipelineLimitBytes))
            add("ws1_store_files", labels, Double(stream.files))
            add("ws1_store_file_bytes", labels, Double(stream.fileBytes))
        }
        if let disk = figures.disk {
            add("ws1_disk_free_bytes", [], Double(disk.freeBytes))
            add("ws1_disk_size_bytes", [], Double(disk.sizeBytes))
        }
        for state in ReportingState.allCases {
            var query = DeviceQuery()
            query.states = [state]
            add("ws1_devices", [("state", state.rawValue)], Double(try await devices.devices(query, after: nil, limit: 1).total))
        }
        for series in LogUsageSeries.of(try await archive.usage(organization: nil)) {
            add("ws1_log_bytes", series.labels, Double(series.rawBytes))
            if let quota = series.quotaBytes { add("ws1_log_quota_bytes", series.labels, Double(quota)) }
        }
        if let notices = try await noticeCounts() {
            for (code, count) in notices.counts.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
                add("ws1_notices", [("code", code.rawValue)], Double(count.lasting))
            }
        }
        if let expiry = certificateExpiry() { add("ws1_tls_certificate_expiry_timestamp_seconds", [], expiry) }
        if let deviceAuthority { add("ws1_device_ca_expiry_timestamp_seconds", [], Double(deviceAuthority.expires) / 1_000_000) }
        return Response(
            status: .ok, headers: [.contentType: PrometheusText.mediaType, .cacheControl: "no-store"],
            body: .init(byteBuffer: ByteBuffer(string: registry.exposition(with: samples))))
    }
}
