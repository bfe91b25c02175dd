/// A summary of events. Groups with the most events come first.
package struct EventSummaryView: Codable, Sendable {
    package struct Group: Codable, Sendable {
        package var key = ""
        package var count = 0
        /// The name of the device that the group is; absent for other groups, and for a device without a name.
        package var deviceName: String?
        /// The number of different devices.
        package var devices = 0
        /// Figures of the values that are numbers; absent if there are none.
        package var numeric: Numeric?
        /// One entry per bucket. Only if a step was requested.
        package var buckets: Buckets?

        package init() {}
    }

    package struct Numeric: Codable, Sendable {
        package var count = 0
        package var sum = 0.0
        package var mean = 0.0
        package var min = 0.0
        package var max = 0.0
        package var p50 = 0.0
        package var p95 = 0.0

        package init() {}
    }

    package struct Buckets: Codable, Sendable {
        package var count: [Int] = []
        package var devices: [Int] = []
        package var sum: [Double?] = []
        package var mean: [Double?] = []
        package var min: [Double?] = []
        package var max: [Double?] = []
        package var p50: [Double?] = []
        package var p95: [Double?] = []

        package init() {}
    }

    package var from = ""
    package var to = ""
    package var stepSeconds: Int64?
    package var by = ""
    /// The number of digits to which percentiles were rounded. Absent if they were not.
    package var percentileDigits: Int?
    package var groups: [Group] = []

    package init() {}
}

extension APIOperation where Answer == EventSummaryView {
    package static var summarizeEvents: Self { Self("GET", "/api/v1/events/summary") }
}
