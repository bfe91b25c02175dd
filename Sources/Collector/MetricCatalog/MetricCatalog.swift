import FoundationEssentials
import SwiftProtobuf
import WireModel

/// The metric of each numeric field of a sample: the one place for charts, OTLP and Prometheus.
///
/// A test compares it with telemetry.proto, so that no field is forgotten.
package enum MetricCatalog {
    /// All metrics of a System sample, field by field.
    package static let system: [CatalogEntry<WireSystemSample>] =
        systemProcessor + systemActivity + systemMemory + systemStorage + systemHardware + systemProcess

    /// Numeric fields and truth values that are attributes of their neighbours' metrics. (All cores together have the
    /// number 0 and no such attribute.)
    package static let systemAttributeFields: [String: String] = [
        "cores.number": "cpu.logical_number", "cpu.number": "cpu.logical_number",
        "file_systems.read_only": "system.filesystem.mode",
    ]

    /// The metric points of a decoded sample of any kind.
    ///
    /// - Parameter metric: only the metric of that name; `nil` for all.
    package static func points<Sample: CatalogedSample>(of sample: Sample, metric: String? = nil) -> [MetricPoint] {
        Sample.metricCatalog.filter { metric == nil || $0.metric.name == metric }.flatMap { $0.points(of: sample) }
    }

    /// The metric points of a sample as it is stored; none for a record that is no sample, or of a later version.
    ///
    /// - Throws: what decoding the body throws.
    package static func points(ofKind kind: WireRecordKind, body: Data, metric: String? = nil) throws(WireError)
        -> [MetricPoint]
    {
        switch kind {
        case .sampleSystem: points(of: try WireSystemSample.decodeBody(body), metric: metric)
        case .sampleAnalytics: points(of: try WireAnalyticsSample.decodeBody(body), metric: metric)
        case .sampleNetworkData: points(of: try WireNetworkDataSample.decodeBody(body), metric: metric)
        case .sampleNetworkAdapter: points(of: try WireNetworkAdapterSample.decodeBody(body), metric: metric)
        case .sampleWlan: points(of: try WireWLANSample.decodeBody(body), metric: metric)
        case .sampleGps: points(of: try WireGPSSample.decodeBody(body), metric: metric)
        case .sampleCustom: try WireCustomSample.decodeBody(body).metricPoints(metric: metric)
        case .unspecified, .beacon, .commandResult, .event, .UNRECOGNIZED: []
        }
    }

    /// The definitions of all built-in samples' metrics by name, each once. Those of custom samples come with the
    /// samples.
    package static let definitions: [String: MetricDefinition] = {
        Dictionary(
            CatalogedMetric.all.map { ($0.definition.name, $0.definition) }, uniquingKeysWith: { first, _ in first })
    }()
}

/// A metric of the catalog with the kind of sample that gives it.
package struct CatalogedMetric: Sendable, Hashable {
    package let definition: MetricDefinition
    package let kind: WireRecordKind

    /// All there are, by name; those of custom samples come with the samples.
    package static let all: [CatalogedMetric] = {
        let all =
            of(WireSystemSample.self, .sampleSystem) + of(WireAnalyticsSample.self, .sampleAnalytics)
            + of(WireNetworkDataSample.self, .sampleNetworkData)
            + of(WireNetworkAdapterSample.self, .sampleNetworkAdapter)
            + of(WireWLANSample.self, .sampleWlan) + of(WireGPSSample.self, .sampleGps)
        return all.sorted { ($0.definition.name, $0.kind.rawValue) < ($1.definition.name, $1.kind.rawValue) }
    }()

    private static func of<Sample: CatalogedSample>(_ type: Sample.Type, _ kind: WireRecordKind) -> [CatalogedMetric] {
        var seen: Set<String> = []
        return Sample.metricCatalog.map(\.metric).filter { seen.insert($0.name).inserted }
            .map { CatalogedMetric(definition: $0, kind: kind) }
    }
}

/// A sample message whose numeric fields the catalog knows.
package protocol CatalogedSample: Message {
    /// The meaning of each field.
    static var metricCatalog: [CatalogEntry<Self>] { get }
    /// Numeric fields, enumerations and truth values that are attributes of their neighbours' metrics, by their path.
    static var attributeFields: [String: String] { get }
}

extension WireSystemSample: CatalogedSample {
    package static var metricCatalog: [CatalogEntry<Self>] { MetricCatalog.system }
    package static var attributeFields: [String: String] { MetricCatalog.systemAttributeFields }
}

extension WireAnalyticsSample: CatalogedSample {
    package static var metricCatalog: [CatalogEntry<Self>] { MetricCatalog.analytics }
    package static var attributeFields: [String: String] { [:] }
}

extension WireNetworkDataSample: CatalogedSample {
    package static var metricCatalog: [CatalogEntry<Self>] { MetricCatalog.networkData }
    package static var attributeFields: [String: String] {
        ["classes.class": "ws1.network.class", "interfaces.class": "ws1.network.class"]
    }
}

extension WireNetworkAdapterSample: CatalogedSample {
    package static var metricCatalog: [CatalogEntry<Self>] { MetricCatalog.networkAdapter }
    package static var attributeFields: [String: String] {
        [
            "adapters.index": "ws1.network.interface.index", "adapters.class": "ws1.network.class",
            "adapters.addresses.prefix_length": "ws1.network.prefix.length",
        ]
    }
}

extension WireWLANSample: CatalogedSample {
    package static var metricCatalog: [CatalogEntry<Self>] { MetricCatalog.wlan }
    package static var attributeFields: [String: String] { ["interfaces.channel": "ws1.wlan.channel"] }
}

extension WireGPSSample: CatalogedSample {
    package static var metricCatalog: [CatalogEntry<Self>] { MetricCatalog.gps }
    package static var attributeFields: [String: String] { ["location.time": "ws1.gps.time"] }
}

extension MetricCatalog {
    /// The entries for the application's own use: all numbers count since the sample before.
    package static let analytics: [CatalogEntry<WireAnalyticsSample>] = [
        CatalogEntry("launches", "ws1.app.launches", "{launch}", .deltaCounter, "Launches of the application") {
            Double($0.launches)
        },
        CatalogEntry("sessions", "ws1.app.sessions", "{session}", .deltaCounter, "Sessions begun") {
            Double($0.sessions)
        },
        CatalogEntry("use_microseconds", "ws1.app.use", "s", .deltaCounter, "Time in use") {
            Double($0.useMicroseconds) / 1_000_000
        },
        events("recorded") { $0.eventsRecorded },
        events("sent") { $0.eventsSent },
        events("held") { $0.eventsHeld },
        events("dropped") { $0.eventsDropped },
        CatalogEntry(
            "interval_microseconds", "ws1.app.sample.interval", "s", .gauge, "Time since the previous analytics sample"
        ) { $0.hasIntervalMicroseconds ? Double($0.intervalMicroseconds) / 1_000_000 : nil },
    ]

    private static func events(
        _ outcome: String, _ read: @escaping @Sendable (WireAnalyticsSample) -> UInt64
    ) -> CatalogEntry<WireAnalyticsSample> {
        CatalogEntry(
            "events_\(outcome)", "ws1.app.events", "{event}", .deltaCounter, "Analytics events by outcome",
            ["ws1.app.event.outcome": outcome]
        ) { Double(read($0)) }
    }

    /// All metrics of a GPS sample.
    package static let gps: [CatalogEntry<WireGPSSample>] = [
        CatalogEntry("location.latitude", "ws1.gps.latitude", "deg", .gauge, "Latitude, WGS 84") {
            $0.hasLocation ? $0.location.latitude : nil
        },
        CatalogEntry("location.longitude", "ws1.gps.longitude", "deg", .gauge, "Longitude, WGS 84") {
            $0.hasLocation ? $0.location.longitude : nil
        },
        CatalogEntry("location.altitude_meters", "ws1.gps.altitude", "m", .gauge, "Altitude") {
            $0.location.hasAltitudeMeters ? $0.location.altitudeMeters : nil
        },
        CatalogEntry("location.accuracy_meters", "ws1.gps.accuracy", "m", .gauge, "Accuracy of the position") {
            $0.location.hasAccuracyMeters ? $0.location.accuracyMeters : nil
        },
        CatalogEntry("vertical_accuracy_meters", "ws1.gps.accuracy.vertical", "m", .gauge, "Accuracy of the altitude") {
            $0.hasVerticalAccuracyMeters ? $0.verticalAccuracyMeters : nil
        },
        CatalogEntry("speed_meters_per_second", "ws1.gps.speed", "m/s", .gauge, "Speed over ground") {
            $0.hasSpeedMetersPerSecond ? $0.speedMetersPerSecond : nil
        },
        CatalogEntry("course_degrees", "ws1.gps.course", "deg", .gauge, "Course over ground") {
            $0.hasCourseDegrees ? $0.courseDegrees : nil
        },
        CatalogEntry("fix", "ws1.gps.fix", "1", .gauge, "1 without a fix, 2 for two dimensions, 3 for three") {
            $0.fix > 0 ? Double($0.fix) : nil
        },
        CatalogEntry(
            "satellites_visible", "ws1.gps.satellites", "{satellite}", .upDownCounter, "Satellites seen and used",
            ["ws1.gps.satellite.state": "visible"]
        ) { $0.hasSatellitesVisible ? Double($0.satellitesVisible) : nil },
        CatalogEntry(
            "satellites_used", "ws1.gps.satellites", "{satellite}", .upDownCounter, "Satellites seen and used",
            ["ws1.gps.satellite.state": "used"]
        ) { $0.hasSatellitesUsed ? Double($0.satellitesUsed) : nil },
    ]
}

extension WireCustomSample {
    /// The measurements that are numbers or truth values, under the names the application gave them.
    package func metricPoints(metric: String? = nil) -> [MetricPoint] {
        measurements.compactMap { measurement in
            guard metric == nil || measurement.name == metric, let number = measurement.value.number else { return nil }
            return MetricPoint(
                definition: MetricDefinition(
                    name: measurement.name, unit: measurement.unit, kind: .gauge, description: ""),
                attributes: measurement.attributes, value: number)
        }
    }
}

extension WireValue {
    /// `nil` for text and dates, which no chart adds up.
    fileprivate var number: Double? {
        switch value {
        case .integer(let value): Double(value)
        case .real(let value): value
        case .boolean(let value): value ? 1 : 0
        case .text, .date, nil: nil
        }
    }
}
