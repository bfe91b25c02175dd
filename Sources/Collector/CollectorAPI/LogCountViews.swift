import WireModel

/// Lines by level and time, as people see them: `buckets[level][i]` belongs to the bucket that begins at `from` +
/// i × `stepSeconds`.
package struct LogHistogramView: Codable, Equatable, Sendable {
    package var from = ""
    package var to = ""
    package var stepSeconds: Int64 = 0
    /// Whether no line was put into a bucket by an estimate.
    package var exact = false
    /// Buckets before that were not counted and are `null`. Absent if all were.
    package var countedFrom: String?
    package var scannedBytes = 0
    package var buckets: [String: [Int?]] = [:]
    /// Over the buckets that were counted.
    package var total: [String: Int] = [:]

    package init() {}
}

/// The facets by which logs can be filtered, as people see them.
package struct LogFacetsView: Codable, Equatable, Sendable {
    package struct Facet: Codable, Equatable, Sendable {
        /// Each facet has one of these, but for logs without an application and chunks of several types.
        package var application: String?
        package var type: LogType?
        package var level: String?
        package var device: String?
        package var name: String?
        package var chunks = 0
        package var lines: UInt64 = 0
        package var bytes = 0

        package init() {}
    }

    package var chunks = 0
    package var lines: UInt64 = 0
    package var bytes = 0
    package var firstTime: String?
    package var lastTime: String?
    package var applications: [Facet] = []
    package var applicationCount = 0
    package var types: [Facet] = []
    package var levels: [Facet] = []
    package var devices: [Facet] = []
    package var deviceCount = 0

    package init() {}
}

/// The room that the logs of an application use.
package struct LogUsageView: Codable, Equatable, Sendable {
    package var organization = ""
    package var application: String?
    package var test: Bool?
    package var chunks = 0
    package var rawBytes = 0
    package var quotaBytes = 0

    package init() {}
}

/// A quota of an application's logs that differs from the default.
package struct LogQuotaView: Codable, Equatable, Sendable {
    package var application = ""
    package var bytes = 0

    package init() {}
}
