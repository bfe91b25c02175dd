import CollectorStore
import CoreMetrics
import HTTPTypes
import Synchronization
import WireModel

/// What the collector counts of itself, through swift-metrics. Every name is in `families`, which `/metrics` and the README are made of.
///
/// Safe from any thread; counting costs some tens of nanoseconds.
package struct CollectorMetrics: Sendable {
    package static let families = [
        PrometheusFamily("ws1_collector_info", "Always 1; the label tells the version."),
        PrometheusFamily("ws1_http_requests_total", "Requests answered, by route, method and status."),
        PrometheusFamily("ws1_http_request_duration_seconds", "From a request's header to its answer's, by route and method."),
        PrometheusFamily("ws1_http_connections", "Connections that are open."),
        PrometheusFamily("ws1_problems_total", "Requests refused, by the code of the problem."),
        PrometheusFamily("ws1_ingest_body_bytes_total", "Bytes of batches, as they travelled (compressed) and inflated."),
        PrometheusFamily("ws1_ingest_parts_total", "Parts of batches answered, by stream and outcome."),
        PrometheusFamily(
            "ws1_ingest_records_total",
            "Records that marks went over, by stream and fate: stored, rejected, dropped (by the device), lost (no device brought them)."),
        PrometheusFamily("ws1_ingest_bodies", "Request bodies in memory."),
        PrometheusFamily("ws1_ingest_bodies_limit", "Request bodies that may be in memory; further ones are answered 429."),
        PrometheusFamily("ws1_ingest_body_memory_bytes", "Bytes of request bodies in memory."),
        PrometheusFamily("ws1_ingest_body_memory_limit_bytes", "Bytes of request bodies that may be in memory."),
        PrometheusFamily("ws1_store_commit_duration_seconds", "Transactions of a stream's writer, sync included."),
        PrometheusFamily(
            "ws1_store_commit_requests", "Requests that shared a transaction.", buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]),
        PrometheusFamily("ws1_store_commit_failures_total", "Transactions that failed, by stream and reason."),
        PrometheusFamily("ws1_store_pipeline_bytes", "Bytes of parts that wait for a stream's disk or are on their way to it."),
        PrometheusFamily("ws1_store_pipeline_limit_bytes", "Bytes of parts that may wait for a stream's disk."),
        PrometheusFamily("ws1_store_files", "Day files of a stream."),
        PrometheusFamily("ws1_store_file_bytes", "Bytes of a stream's day files."),
        PrometheusFamily("ws1_store_ready", "1 while an append could succeed."),
        PrometheusFamily("ws1_disk_free_bytes", "Bytes free for the data directory."),
        PrometheusFamily("ws1_disk_size_bytes", "Size of the file system of the data directory."),
        PrometheusFamily("ws1_devices", "Devices but for test devices, by reporting state."),
        PrometheusFamily("ws1_log_bytes", "Bytes of text of the logs kept, by organization and application."),
        PrometheusFamily("ws1_log_quota_bytes", "Bytes of text that an application's logs may have."),
        PrometheusFamily("ws1_notices", "Notices that last, by code."),
        PrometheusFamily("ws1_tls_certificate_expiry_timestamp_seconds", "When the server's certificate ends."),
        PrometheusFamily("process_cpu_seconds_total", "Processor time of this process."),
        PrometheusFamily("process_resident_memory_bytes", "Resident memory of this process."),
        PrometheusFamily("process_open_fds", "Open file descriptors."),
        PrometheusFamily("process_max_fds", "Open file descriptors that this process may have."),
        PrometheusFamily("process_start_time_seconds", "When this process started, seconds since 1970."),
    ]

    private let factory: any MetricsFactory
    private let compressed: Counter
    private let inflated: Counter
    let connections: Meter

    /// - Parameter factory: a `PrometheusRegistry`, or any other of swift-metrics.
    package init(_ factory: any MetricsFactory) {
        self.factory = factory
        compressed = Counter(label: "ws1_ingest_body_bytes", dimensions: [("form", "compressed")], factory: factory)
        inflated = Counter(label: "ws1_ingest_body_bytes", dimensions: [("form", "inflated")], factory: factory)
        connections = Meter(label: "ws1_http_connections", dimensions: [], factory: factory)
    }

    func read(compressed bytes: Int, inflated inflatedBytes: Int) {
        compressed.increment(by: bytes)
        inflated.increment(by: inflatedBytes)
    }

    func answered(_ answers: [PartAnswer]) {
        for answer in answers {
            count("ws1_ingest_parts", [("stream", "\(answer.stream)"), ("outcome", answer.outcome.metricName)], by: 1)
        }
    }

    func refused(_ code: String) { count("ws1_problems", [("code", code)], by: 1) }

    func requests(of route: String, _ method: HTTPRequest.Method) -> RequestMetrics { RequestMetrics(route, method, factory) }

    private func count(_ label: String, _ dimensions: [(String, String)], by amount: UInt64) {
        Counter(label: label, dimensions: dimensions, factory: factory).increment(by: Int64(clamping: amount))
    }
}

/// What is counted of one route.
final class RequestMetrics: Sendable {
    private let route: String
    private let method: HTTPRequest.Method
    private let factory: any MetricsFactory
    private let counters = Mutex<[Int: Counter]>([:])
    /// Made by the first request: a route that nobody calls has no series.
    private let timer = Mutex<Timer?>(nil)

    init(_ route: String, _ method: HTTPRequest.Method, _ factory: any MetricsFactory) {
        self.route = route
        self.method = method
        self.factory = factory
    }

    func answered(_ status: Int, after duration: Duration) {
        let counter = counters.withLock { counters in
            if let known = counters[status] { return known }
            let made = Counter(
                label: "ws1_http_requests", dimensions: [("code", "\(status)"), ("method", method.rawValue), ("route", route)],
                factory: factory)
            counters[status] = made
            return made
        }
        counter.increment()
        let timer = timer.withLock { timer in
            if let timer { return timer }
            let made = Timer(
                label: "ws1_http_request_duration", dimensions: [("method", method.rawValue), ("route", route)], factory: factory)
            timer = made
            return made
        }
        timer.recordNanoseconds(duration.components.seconds * 1_000_000_000 + duration.components.attoseconds / 1_000_000_000)
    }
}

extension CollectorMetrics: StoreObserver {
    package func committed(_ commit: StoreCommit) {
        let stream = [("stream", "\(commit.stream)")]
        Timer(label: "ws1_store_commit_duration", dimensions: stream, factory: factory).recordNanoseconds(
            commit.duration.components.seconds * 1_000_000_000 + commit.duration.components.attoseconds / 1_000_000_000)
        Recorder(label: "ws1_store_commit_requests", dimensions: stream, aggregate: true, factory: factory).record(commit.requests)
        if let failure = commit.failure { count("ws1_store_commit_failures", stream + [("reason", failure.rawValue)], by: 1) }
        let counts = commit.counts
        for (fate, number) in [
            ("stored", counts.stored), ("rejected", counts.rejected), ("dropped", counts.dropped), ("lost", counts.lost),
        ] where number > 0 { count("ws1_ingest_records", stream + [("fate", fate)], by: number) }
    }
}

extension PartOutcome {
    fileprivate var metricName: String {
        switch self {
        case .stored: "stored"
        case .already: "already"
        case .damaged: "damaged"
        case .tooLarge: "too-large"
        case .unavailable: "unavailable"
        case .identityConflict: "identity-conflict"
        case .closed: "closed"
        default: "unknown"
        }
    }
}
