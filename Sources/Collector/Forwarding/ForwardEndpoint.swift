import HTTPConnection
import WireModel

/// A receiver of OTLP to which the collector sends records on, and which of them.
package struct ForwardEndpoint: Sendable, Equatable {
    /// What is sent, by the names of the setting.
    package enum Kind: String, Sendable, CaseIterable {
        /// Samples of all modules, as metrics.
        case samples
        /// Events, as log records with the event's name.
        case events
        /// Beacons, likewise.
        case beacons
        /// Log records that came as OTLP, as they came.
        case otlpLogs = "otlp-logs"
        /// Data points that came as OTLP, as they came.
        case otlpMetrics = "otlp-metrics"
        /// Lines of the log archive, as log records.
        case logs

        /// Where it is read.
        package var source: ForwardSource {
            switch self {
            case .samples, .otlpMetrics: .records(.sample)
            case .events, .otlpLogs: .records(.event)
            case .beacons: .records(.status)
            case .logs: .logLines
            }
        }

        /// The kinds of records that have it; empty for what is no record.
        var records: [WireRecordKind] {
            switch self {
            case .samples: WireRecordKind.modules.map(\.kind) + [.sampleCustom]
            case .events: [.event]
            case .beacons: [.beacon]
            case .otlpLogs: [.otlpLog]
            case .otlpMetrics: [.otlpMetrics]
            case .logs: []
            }
        }
    }

    /// Without `/v1/logs` and `/v1/metrics`.
    package var url: EndpointURL?
    /// PEM file with the only authorities to trust; `nil` for those of the system.
    package var authorityFile: String?
    /// File with headers of each request, `Name: value` on each line. Messages never show the values.
    package var headerFile: String?
    /// Empty for all.
    package var kinds: Set<Kind> = []
    /// Names of organizations; empty for all.
    package var organizations: Set<String> = []
    /// Names of metrics; a `*` at the end stands for any rest. Empty for all.
    package var metrics: [String] = []
    /// Whether test data is sent, too.
    package var withTest = false
    /// Whether a new endpoint begins with the oldest stored records, instead of what comes from now on.
    package var withBacklog = false
    /// Seconds between two sendings of the collector's own metrics; 0 for none.
    package var ownMetricsSeconds = 0

    package init(url: EndpointURL? = nil) { self.url = url }

    /// What is sent of a source.
    func kinds(of source: ForwardSource) -> Set<Kind> {
        Set((kinds.isEmpty ? Kind.allCases : Array(kinds)).filter { $0.source == source })
    }
}

/// Which metrics are sent.
struct MetricFilter: Sendable {
    private var names: Set<String> = []
    private var prefixes: [String] = []

    /// - Parameter patterns: of `ForwardEndpoint.metrics`.
    init(_ patterns: [String]) {
        for pattern in patterns {
            if pattern.hasSuffix("*") { prefixes.append(String(pattern.dropLast())) } else { names.insert(pattern) }
        }
    }

    var admitsAll: Bool { names.isEmpty && prefixes.isEmpty }

    func admits(_ name: String) -> Bool {
        admitsAll || names.contains(name) || prefixes.contains { name.hasPrefix($0) }
    }
}
