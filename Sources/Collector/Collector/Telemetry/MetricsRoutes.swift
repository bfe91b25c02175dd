import CollectorAPI
import Foundation
import Hummingbird
import LogArchive
import NIOCore
import RecordStore
import Registry
import WireModel

/// `/metrics` for Prometheus: counters since the start, and present values. They describe the whole collector, so only
/// people of all organizations may read them.
struct MetricsRoutes: RouteGroup {
    let shared: RouteContext
    let registry: PrometheusRegistry
    let budget: IngestBudget
    /// When the server's certificate ends, in seconds since 1970.
    let certificateExpiry: @Sendable () -> Double?
    let deviceAuthority: DeviceAuthority?

    func add(to router: CollectorRouter) { router.people(.scraper).get("/metrics", use: metrics) }

    private func metrics(_ request: Request, _ context: PersonContext) async throws -> Response {
        _ = try QueryParameters(request, known: [])
        guard context.person.organization == nil else {
            throw Problem.forbidden("Metrics cover the whole collector, but the token belongs to one organization.")
        }
        return Response(
            status: .ok, headers: [.contentType: PrometheusText.mediaType, .cacheControl: "no-store"],
            body: .init(byteBuffer: ByteBuffer(string: registry.exposition(with: try await samples()))))
    }

    /// The present values.
    func samples() async throws -> [PrometheusSample] {
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
        if let tables = figures.peopleTables {
            add("ws1_people_tables_lag_seconds", [], tables.lagSeconds)
            add("ws1_people_tables_waiting_slices", [], Double(tables.waitingSlices))
        }
        for state in ReportingState.allCases {
            var query = DeviceQuery()
            query.states = [state]
            add(
                "ws1_devices", [("state", state.rawValue)],
                Double(try await metadata.devices(query, after: nil, limit: 1).total))
        }
        for series in LogUsageSeries.of(try await metadata.logUsage(organization: nil)) {
            add("ws1_log_bytes", series.labels, Double(series.rawBytes))
            if let quota = series.quotaBytes { add("ws1_log_quota_bytes", series.labels, Double(quota)) }
        }
        for (code, count) in try await notices.counts().counts.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            add("ws1_notices", [("code", code.rawValue)], Double(count.lasting))
        }
        if let expiry = certificateExpiry() { add("ws1_tls_certificate_expiry_timestamp_seconds", [], expiry) }
        if let deviceAuthority {
            add("ws1_device_ca_expiry_timestamp_seconds", [], Double(deviceAuthority.expires) / 1_000_000)
        }
        return samples
    }
}

/// The stored logs of one application, or of the rest of an organization's applications, as a metric.
///
/// Devices choose the names of applications, and each label value is a series that the scraper keeps for long. So only
/// an organization's largest applications have their own label. Pure.
struct LogUsageSeries: Equatable {
    /// Applications of an organization with their own label. Those of test devices are separate.
    static let named = 20
    static let rest = "other"

    var organization: String
    var application: String
    var test: Bool
    var rawBytes: Int
    /// `nil` for the rest, because each application has its own quota.
    var quotaBytes: Int?

    var labels: [(String, String)] {
        [("organization", organization), ("application", application), ("test", test ? "true" : "false")]
    }

    static func of(_ usage: [LogUsageRow]) -> [LogUsageSeries] {
        struct Group: Hashable {
            var organization: String
            var test: Bool
        }
        let groups = Dictionary(grouping: usage) { Group(organization: $0.organization, test: $0.test) }
        let series = groups.flatMap { group, rows -> [LogUsageSeries] in
            // An application named like the rest is counted with it, because two series must not have the same labels.
            let largest = rows.filter { $0.application != rest }.sorted {
                ($1.rawBytes, $0.application) < ($0.rawBytes, $1.application)
            }
            let reported = largest.prefix(named).map {
                LogUsageSeries(
                    organization: $0.organization, application: $0.application, test: $0.test, rawBytes: $0.rawBytes,
                    quotaBytes: $0.quotaBytes)
            }
            let others = largest.dropFirst(named) + rows.filter { $0.application == rest }
            guard !others.isEmpty else { return reported }
            return reported + [
                LogUsageSeries(
                    organization: group.organization, application: rest, test: group.test,
                    rawBytes: others.reduce(0) { $0 + $1.rawBytes }, quotaBytes: nil)
            ]
        }
        return series.sorted {
            ($0.organization, $0.application, $0.test ? 1 : 0) < ($1.organization, $1.application, $1.test ? 1 : 0)
        }
    }
}

/// The costs of this process from /proc. Empty on other systems.
enum ProcessFigures {
    static func samples() -> [PrometheusSample] {
        var samples: [PrometheusSample] = []
        func add(_ name: String, _ value: Double?) {
            if let value { samples.append(PrometheusSample(name, value: value)) }
        }
        let ticks = Double(sysconf(Int32(_SC_CLK_TCK)))
        // The name in parentheses may contain spaces, so fields are counted after it. proc(5) defines their numbers;
        // the first one here is the third there.
        if let stat = text("/proc/self/stat"), let end = stat.lastIndex(of: ")") {
            let fields = stat[stat.index(after: end)...].split(separator: " ")
            if fields.count > 21, let user = Double(fields[11]), let system = Double(fields[12]) {
                add("process_cpu_seconds_total", (user + system) / ticks)
                let boot = text("/proc/stat")?.split(separator: "\n").first { $0.hasPrefix("btime ") }.flatMap {
                    Double($0.dropFirst(6))
                }
                if let boot, let start = Double(fields[19]) { add("process_start_time_seconds", boot + start / ticks) }
                if let pages = Double(fields[21]) {
                    add("process_resident_memory_bytes", pages * Double(getpagesize()))
                }
            }
        }
        let descriptors = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
        add("process_open_fds", descriptors.map(Double.init))
        var limit = rlimit()
        if getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 {
            add("process_max_fds", Double(limit.rlim_cur))
        }
        return samples
    }

    private static func text(_ path: String) -> String? { try? String(contentsOfFile: path, encoding: .utf8) }
}
