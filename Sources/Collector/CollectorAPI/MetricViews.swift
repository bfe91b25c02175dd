import JSON

/// A device's series: `values[aggregate][i]` belongs to the bucket that begins at `from` + i × `stepSeconds`; null if
/// there is none.
package struct SeriesView: Codable, Sendable {
    package struct Series: Codable, Sendable {
        package var metric = ""
        /// UCUM.
        package var unit = ""
        package var kind = ""
        package var module = ""
        package var application: String?
        /// The instrumentation scope, of what came as OTLP.
        package var scope: String?
        /// `service.instance.id`, of what came as OTLP.
        package var instance: String?
        package var attributes: [String: JSONValue] = [:]
        package var values: [String: [Double?]] = [:]
        /// Of each quantile that was asked for: the least and the greatest value that it can have, for each bucket.
        /// Only of histograms; null for an edge that nothing bounds.
        package var quantileBounds: [String: [[Double?]?]]?

        package init() {}
    }

    package var device = ""
    package var from = ""
    package var to = ""
    package var stepSeconds: Int64 = 0
    package var buckets = 0
    package var series: [Series] = []

    package init() {}
}

/// A metric of the catalog.
package struct CatalogView: Codable, Sendable {
    package var metric = ""
    /// UCUM.
    package var unit = ""
    package var kind = ""
    package var module = ""
    package var description = ""

    package init() {}
}

/// A device's newest value of a metric.
package struct LatestValueView: Codable, Sendable {
    package struct Value: Codable, Sendable {
        package var attributes: [String: JSONValue] = [:]
        package var value = 0.0

        package init() {}
    }

    package var device = ""
    /// The device's name; absent if it has none.
    package var deviceName: String?
    /// The device's wall clock.
    package var time = ""
    package var receivedAt = ""
    package var module = ""
    package var unit = ""
    package var kind = ""
    /// One per attribute set.
    package var values: [Value] = []

    package init() {}
}

/// The distribution of the devices' newest values of a metric, by attribute set.
package struct DistributionView: Codable, Sendable {
    /// Every number is the value of a device, except the mean and the edges of the histogram.
    package struct Entry: Codable, Equatable, Sendable {
        package struct Bar: Codable, Equatable, Sendable {
            package var from = 0.0
            /// Exclusive, except for the last bar.
            package var to = 0.0
            package var count = 0

            package init(from: Double, to: Double, count: Int) { (self.from, self.to, self.count) = (from, to, count) }
        }

        package var attributes: [String: JSONValue] = [:]
        package var count = 0
        package var min = 0.0
        package var max = 0.0
        package var mean = 0.0
        package var p5 = 0.0
        package var p25 = 0.0
        package var p50 = 0.0
        package var p75 = 0.0
        package var p90 = 0.0
        package var p95 = 0.0
        package var p99 = 0.0
        /// Bars of equal width; a single bar if all values are equal.
        package var histogram: [Bar] = []

        package init() {}
    }

    package var metric = ""
    package var unit: String?
    package var kind: String?
    /// Devices with a value.
    package var devices = 0
    package var distributions: [Entry] = []

    package init() {}
}

/// The spread of a metric over the fleet: entry i of each list belongs to the bucket that begins at `from` + i ×
/// `stepSeconds`; null if it has no value.
package struct FleetSeriesView: Codable, Sendable {
    package struct Series: Codable, Sendable {
        package var group: String?
        package var other: Bool?
        package var attributes: [String: JSONValue] = [:]
        /// Devices with a value.
        package var devices: [Int] = []
        package var min: [Double?] = []
        package var p5: [Double?] = []
        package var p25: [Double?] = []
        package var p50: [Double?] = []
        package var p75: [Double?] = []
        package var p95: [Double?] = []
        package var max: [Double?] = []
        package var mean: [Double?] = []

        package init() {}
    }

    package var metric = ""
    package var unit: String?
    package var kind: String?
    package var aggregate: String?
    package var from = ""
    package var to = ""
    package var stepSeconds: Int64 = 0
    package var buckets = 0
    package var by: String?
    /// The number of devices that could have a value.
    package var devices = 0
    /// How many of them were looked at. Absent if all were.
    package var sampled: Int?
    package var series: [Series] = []

    package init() {}
}

extension APIOperation where Answer == SeriesView {
    package static func getSampleSeries(_ device: String) -> Self {
        Self("GET", "/api/v1/devices/\(device.percentEncoded)/samples/series")
    }
}

extension APIOperation where Answer == Page<CatalogView> {
    package static var getMetricsCatalog: Self { Self("GET", "/api/v1/metrics-catalog") }
}

extension APIOperation where Answer == Page<LatestValueView> {
    package static var getLatestValues: Self { Self("GET", "/api/v1/metrics/latest") }
}

extension APIOperation where Answer == DistributionView {
    package static var getDistribution: Self { Self("GET", "/api/v1/metrics/distribution") }
}

extension APIOperation where Answer == FleetSeriesView {
    package static var getFleetSeries: Self { Self("GET", "/api/v1/metrics/series") }
}
