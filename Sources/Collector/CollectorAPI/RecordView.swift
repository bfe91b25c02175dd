import JSON

/// A stored record, as people see it.
package struct RecordView: Codable, Sendable {
    package var device = ""
    /// The device's name. Only in lists over the fleet; absent if it has none.
    package var deviceName: String?
    /// Only in lists of records of all kinds.
    package var kind: String?
    package var epoch = ""
    package var number: UInt64 = 0
    package var module: String?
    package var application: String?
    /// The device's wall clock.
    package var time = ""
    package var receivedAt = ""
    package var bootId: String?
    package var timeSinceBootMicroseconds: UInt64 = 0
    package var test: Bool?
    /// The body, as in telemetry.proto.
    package var beacon: JSONValue?
    package var sample: JSONValue?
    package var event: EventView?
    /// The body of a record that came as OTLP: a log record, or metrics of one scope.
    package var otlp: JSONValue?
    /// The resource and the scope of such a record.
    package var context: JSONValue?
    /// What came as OTLP, as it came: this record alone, in OTLP's own JSON. Only if requested.
    package var resourceLogs: [JSONValue]?
    package var resourceMetrics: [JSONValue]?
    /// The sample's values as metrics of the catalog. Only if requested.
    package var metrics: [MetricView]?
    /// The body in Base64, if this version does not know its kind or form.
    package var body: String?

    package init() {}
}

/// A page of records.
package struct RecordsView: Codable, Sendable {
    package var items: [RecordView] = []
    /// The `cursor` for the next page; `null` at the end.
    package var next: String?
    /// Damaged record files that the page leaves out; `nil` for none.
    package var missing: [String]?

    package init() {}
}

package struct EventView: Codable, Sendable {
    package var type = ""
    package var name = ""
    package var value = JSONValue.null
    package var valueType = ""
    package var attributes: [String: JSONValue] = [:]
    package var session: String?
    package var succeeded: Bool?
    package var durationMicroseconds: UInt64?

    package init() {}
}

/// One value of one metric in a sample, under the catalog's name.
package struct MetricView: Codable, Sendable {
    package var name = ""
    /// UCUM.
    package var unit = ""
    /// Empty if the metric has one series per device.
    package var attributes: [String: JSONValue] = [:]
    package var value = JSONValue.null
    /// When a cumulative counter began at zero, by the device's clock; `nil` for other metrics.
    package var startTime: String?

    package init() {}
}

extension APIOperation where Answer == RecordsView {
    package static func listBeacons(_ device: String) -> Self {
        Self("GET", "/api/v1/devices/\(device.percentEncoded)/beacons")
    }

    package static func listSamples(_ device: String) -> Self {
        Self("GET", "/api/v1/devices/\(device.percentEncoded)/samples")
    }

    package static func listOTLP(_ device: String) -> Self {
        Self("GET", "/api/v1/devices/\(device.percentEncoded)/otlp")
    }

    package static var listRecords: Self { Self("GET", "/api/v1/records") }

    package static var listEvents: Self { Self("GET", "/api/v1/events") }
}
