import CoreMetrics
import HTTPTypes
import Metrics
import OTLP
import RecordStore
import Synchronization
import WireModel

/// The collector's own metrics, through swift-metrics. `families` contains every name. `/metrics` exports them, and
/// `Documentation/operations.md` lists them.
///
/// Safe from any thread. A series is made when it first counts, and found again by a small key. Counting costs a lock,
/// a look-up and an addition.
package struct CollectorMetrics: Sendable {
    package static let families = [
        PrometheusFamily("ws1_collector_info", "Always 1. The label has the version."),
        PrometheusFamily("ws1_http_requests_total", "Answered requests, by route, method and status."),
        PrometheusFamily(
            "ws1_http_request_duration_seconds", "Time from a request's header to its answer's, by route and method."),
        PrometheusFamily("ws1_http_connections", "Open connections."),
        PrometheusFamily(
            "ws1_http_connections_refused_total",
            "Connections closed at once, because their address had too many open."),
        PrometheusFamily("ws1_problems_total", "Refused requests, by problem code."),
        PrometheusFamily(
            "ws1_ingest_body_bytes_total", "Bytes of batches, compressed and inflated."),
        PrometheusFamily("ws1_ingest_parts_total", "Answered parts of batches, by stream and outcome."),
        PrometheusFamily(
            "ws1_ingest_records_total",
            """
            Records that marks passed, by stream and fate: stored, rejected, dropped (by the device), lost (never \
            received).
            """
        ),
        PrometheusFamily("ws1_otlp_body_bytes_total", "Bytes of requests of OTLP, by signal, compressed and inflated."),
        PrometheusFamily(
            "ws1_otlp_items_total",
            "Log records and data points that came as OTLP, by signal and fate: accepted, rejected."),
        PrometheusFamily(
            "ws1_otlp_known_total", "Log records of OTLP that were stored already, by their log.record.uid."),
        PrometheusFamily("ws1_ingest_bodies", "Request bodies in memory."),
        PrometheusFamily(
            "ws1_ingest_bodies_limit", "Request bodies that may be in memory. Further ones get 429."),
        PrometheusFamily("ws1_ingest_body_memory_bytes", "Bytes of request bodies in memory."),
        PrometheusFamily("ws1_ingest_body_memory_limit_bytes", "Bytes of request bodies that may be in memory."),
        PrometheusFamily(
            "ws1_store_commit_duration_seconds", "Duration of a stream writer's transactions, fsync included."),
        PrometheusFamily(
            "ws1_store_commit_requests", "Requests per transaction.", buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]),
        PrometheusFamily("ws1_store_commit_failures_total", "Failed transactions, by stream and reason."),
        PrometheusFamily("ws1_store_pipeline_bytes", "Bytes of parts that wait to be written or are being written."),
        PrometheusFamily("ws1_store_pipeline_limit_bytes", "Bytes of parts that may wait to be written."),
        PrometheusFamily("ws1_store_files", "Record files of a stream."),
        PrometheusFamily("ws1_store_file_bytes", "Bytes of a stream's record files."),
        PrometheusFamily("ws1_store_packed_files_total", "Record files that were packed."),
        PrometheusFamily("ws1_store_packing_saved_bytes_total", "Bytes by which packing made record files smaller."),
        PrometheusFamily("ws1_store_ready", "1 while the collector can store records."),
        PrometheusFamily("ws1_housekeeping", "1 while this collector does the housekeeping. Of a cluster one does."),
        PrometheusFamily(
            "ws1_people_tables_lag_seconds",
            "Age of the oldest records that are not in the tables for people, in a cluster."),
        PrometheusFamily(
            "ws1_people_tables_waiting_slices", "Slices of records that are not in the tables for people."),
        PrometheusFamily("ws1_disk_free_bytes", "Free bytes for the data directory."),
        PrometheusFamily("ws1_disk_size_bytes", "Size of the data directory's file system."),
        PrometheusFamily("ws1_devices", "Devices without test devices, by reporting state."),
        PrometheusFamily(
            "ws1_log_bytes",
            """
            Bytes of stored log text, by organization and application. `other` sums an organization's smaller \
            applications.
            """
        ),
        PrometheusFamily("ws1_log_quota_bytes", "Bytes of log text that an application may have."),
        PrometheusFamily("ws1_notices", "Open notices, by code."),
        PrometheusFamily("ws1_tls_certificate_expiry_timestamp_seconds", "When the server's certificate expires."),
        PrometheusFamily(
            "ws1_device_ca_expiry_timestamp_seconds",
            "When the first of the device certificates' authorities expires."),
        PrometheusFamily(
            "ws1_forward_records_total",
            "Records that were forwarded, by endpoint, stream and fate: sent, dropped (refused for good), unreadable."),
        PrometheusFamily(
            "ws1_forward_items_total", "Log records and data points in requests that an endpoint took."),
        PrometheusFamily(
            "ws1_forward_items_rejected_total", "Those of them that the endpoint said it rejected."),
        PrometheusFamily("ws1_forward_retries_total", "Requests that are to be sent again."),
        PrometheusFamily(
            "ws1_forward_lag_seconds",
            "Time since the receipt of the oldest record that an endpoint has not taken; 0 if it has all."),
        PrometheusFamily(
            "ws1_forward_waiting_records", "Records that were read for an endpoint, and that it has not taken."),
        PrometheusFamily(
            "ws1_forward_own_metrics_total",
            "Sendings of the collector's own metrics, by endpoint and fate: sent, failed."),
        PrometheusFamily("ws1_mqtt_connected", "1 while the collector is connected to its message broker."),
        PrometheusFamily("ws1_mqtt_messages_total", "Messages from the broker, by kind."),
        PrometheusFamily(
            "ws1_mqtt_messages_ignored_total", "Messages from the broker without an answer, by reason."),
        PrometheusFamily("ws1_mqtt_answers_total", "Answers to requests over the broker, by fate."),
        PrometheusFamily("ws1_mqtt_news_total", "Messages that told a device of news, by fate."),
        PrometheusFamily("ws1_mqtt_requests", "Requests over the broker that are worked on."),
        PrometheusFamily("ws1_mqtt_part_bytes", "Bytes of parts of requests that wait to be read."),
        PrometheusFamily("ws1_mqtt_devices", "Devices by what is known of their connection to the broker."),
        PrometheusFamily("process_cpu_seconds_total", "Processor time of this process."),
        PrometheusFamily("process_resident_memory_bytes", "Resident memory of this process."),
        PrometheusFamily("process_open_fds", "Open file descriptors."),
        PrometheusFamily("process_max_fds", "Maximum number of open file descriptors."),
        PrometheusFamily("process_start_time_seconds", "Start of this process in seconds since 1970."),
    ]

    private let factory: any MetricsFactory
    private let requests: MetricSeries<RequestKey, Counter>
    private let requestTimes: MetricSeries<RequestKey, Timer>
    private let compressed: Counter
    private let inflated: Counter
    private let parts: MetricSeries<PartKey, Counter>
    private let records: MetricSeries<RecordKey, Counter>
    private let commitTimes: MetricSeries<StreamName, Timer>
    private let commitRequests: MetricSeries<StreamName, Recorder>
    private let otlpBytes: MetricSeries<OTLPKey, Counter>
    private let otlpItems: MetricSeries<OTLPKey, Counter>
    private let otlpKnown: Counter
    let connections: Meter
    private let housekeeping: Meter
    /// The rate of ingest for people, who look at one moment and cannot derive a rate from counters.
    let ingestRate = IngestRate()

    private struct RequestKey: Hashable {
        var route: String
        var method: HTTPRequest.Method
        var status = 0

        var dimensions: [(String, String)] { [("method", method.rawValue), ("route", route)] }
    }

    private struct PartKey: Hashable {
        var stream: StreamName
        var outcome: PartOutcome
    }

    private struct RecordKey: Hashable {
        var stream: StreamName
        var fate: String
    }

    private struct OTLPKey: Hashable {
        var signal: OTLPSignal
        /// The form of bytes, or the fate of items.
        var word: String
    }

    /// - Parameter factory: a `PrometheusRegistry`, or any other of swift-metrics.
    package init(_ factory: any MetricsFactory) {
        self.factory = factory
        requests = MetricSeries {
            Counter(
                label: "ws1_http_requests", dimensions: [("code", "\($0.status)")] + $0.dimensions, factory: factory)
        }
        requestTimes = MetricSeries {
            Timer(label: "ws1_http_request_duration", dimensions: $0.dimensions, factory: factory)
        }
        compressed = Counter(label: "ws1_ingest_body_bytes", dimensions: [("form", "compressed")], factory: factory)
        inflated = Counter(label: "ws1_ingest_body_bytes", dimensions: [("form", "inflated")], factory: factory)
        parts = MetricSeries {
            Counter(
                label: "ws1_ingest_parts",
                dimensions: [("stream", "\($0.stream)"), ("outcome", $0.outcome.metricName)], factory: factory)
        }
        records = MetricSeries {
            Counter(
                label: "ws1_ingest_records", dimensions: [("stream", "\($0.stream)"), ("fate", $0.fate)],
                factory: factory)
        }
        commitTimes = MetricSeries {
            Timer(label: "ws1_store_commit_duration", dimensions: [("stream", "\($0)")], factory: factory)
        }
        commitRequests = MetricSeries {
            Recorder(
                label: "ws1_store_commit_requests", dimensions: [("stream", "\($0)")], aggregate: true, factory: factory
            )
        }
        otlpBytes = MetricSeries {
            Counter(
                label: "ws1_otlp_body_bytes", dimensions: [("signal", $0.signal.rawValue), ("form", $0.word)],
                factory: factory)
        }
        otlpItems = MetricSeries {
            Counter(
                label: "ws1_otlp_items", dimensions: [("signal", $0.signal.rawValue), ("fate", $0.word)],
                factory: factory)
        }
        otlpKnown = Counter(label: "ws1_otlp_known", dimensions: [], factory: factory)
        connections = Meter(label: "ws1_http_connections", dimensions: [], factory: factory)
        housekeeping = Meter(label: "ws1_housekeeping", dimensions: [], factory: factory)
        housekeeping.set(0)
        // If a counter appears only with its first event, Prometheus sees no increase then. So the series that alerts
        // use exist from the start with 0.
        for stream in StreamName.allCases {
            for fate in Self.fates { _ = records[RecordKey(stream: stream, fate: fate)] }
            _ = parts[PartKey(stream: stream, outcome: .identityConflict)]
        }
        for signal in OTLPSignal.allCases {
            for fate in ["accepted", "rejected"] { _ = otlpItems[OTLPKey(signal: signal, word: fate)] }
        }
    }

    private static let fates = ["stored", "rejected", "dropped", "lost"]

    func read(compressed bytes: Int, inflated inflatedBytes: Int) {
        compressed.increment(by: bytes)
        inflated.increment(by: inflatedBytes)
    }

    func answered(_ answers: [PartAnswer]) {
        for answer in answers { parts[PartKey(stream: answer.stream, outcome: answer.outcome)].increment() }
    }

    func readOTLP(_ signal: OTLPSignal, compressed bytes: Int, inflated inflatedBytes: Int) {
        otlpBytes[OTLPKey(signal: signal, word: "compressed")].increment(by: bytes)
        otlpBytes[OTLPKey(signal: signal, word: "inflated")].increment(by: inflatedBytes)
    }

    /// Counts the items of a request that is answered with 200.
    func stored(_ signal: OTLPSignal, _ tally: OTLPTally) {
        otlpItems[OTLPKey(signal: signal, word: "accepted")].increment(by: tally.items - tally.rejected)
        otlpItems[OTLPKey(signal: signal, word: "rejected")].increment(by: tally.rejected)
    }

    /// Counts items that were left out because the store had them.
    func known(_ count: Int) { if count > 0 { otlpKnown.increment(by: count) } }

    func refused(_ code: String) { count("ws1_problems", [("code", code)]) }

    func connectionRefused() { count("ws1_http_connections_refused", []) }

    /// - Parameter route: the pattern of its path; `nil` for a request that is no route's.
    func answered(_ method: HTTPRequest.Method, route: String?, status: Int, after duration: Duration) {
        let key = RequestKey(route: route ?? "none", method: route == nil || method == .head ? .get : method)
        requestTimes[key].record(duration: duration)
        requests[RequestKey(route: key.route, method: key.method, status: status)].increment()
    }

    /// Runs the housekeeping, and shows in `ws1_housekeeping` that this collector does it.
    package func duringHousekeeping(_ work: () async -> Void) async {
        housekeeping.set(1)
        await work()
        housekeeping.set(0)
    }

    /// A record file was packed.
    /// - Parameters:
    ///   - before: its bytes.
    ///   - after: those of the packed file.
    package func packed(from before: UInt64, to after: UInt64) {
        count("ws1_store_packed_files", [])
        count("ws1_store_packing_saved_bytes", [], by: Int64(clamping: before.subtractingSaturating(after)))
    }

    /// Counts a rare event.
    private func count(_ label: String, _ dimensions: [(String, String)], by number: Int64 = 1) {
        Counter(label: label, dimensions: dimensions, factory: factory).increment(by: number)
    }
}

extension CollectorMetrics: StoreObserver {
    package func committed(_ commit: StoreCommit) {
        commitTimes[commit.stream].record(duration: commit.duration)
        commitRequests[commit.stream].record(commit.requests)
        if let failure = commit.failure {
            count("ws1_store_commit_failures", [("stream", "\(commit.stream)"), ("reason", failure.rawValue)])
        }
        let counts = commit.counts
        ingestRate.record(counts.stored)
        for (fate, number) in zip(Self.fates, [counts.stored, counts.rejected, counts.dropped, counts.lost])
        where number > 0 {
            records[RecordKey(stream: commit.stream, fate: fate)].increment(by: Int64(clamping: number))
        }
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

/// The collector's own telemetry: its counters and their source. One per server; made before its store.
package struct CollectorTelemetry: Sendable {
    package let registry: PrometheusRegistry
    package let metrics: CollectorMetrics

    package init() {
        registry = PrometheusRegistry(CollectorMetrics.families)
        metrics = CollectorMetrics(registry)
    }
}

/// The series of one metric by key; each is made when it is first needed. Keep the number of keys small. Safe from any
/// thread.
final class MetricSeries<Key: Hashable & Sendable, Handle: Sendable>: Sendable {
    private let made = Mutex<[Key: Handle]>([:])
    private let make: @Sendable (Key) -> Handle

    init(_ make: @escaping @Sendable (Key) -> Handle) { self.make = make }

    subscript(_ key: Key) -> Handle {
        made.withLock { made in
            if let known = made[key] { return known }
            let new = make(key)
            made[key] = new
            return new
        }
    }
}
