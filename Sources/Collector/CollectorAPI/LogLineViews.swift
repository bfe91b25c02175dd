import WireModel

/// A log line, as people see it.
package struct LogLineView: Codable, Equatable, Sendable {
    package var id = ""
    /// The time by the device's clock.
    package var time = ""
    package var level = ""
    package var category: String?
    /// Escaped as on disk, and so is `metadata`.
    package var text = ""
    package var metadata: String?
    /// Malformed lines that follow it.
    package var unformatted: String?
    package var cut: Bool?
    package var device = ""
    /// Absent if the device has no name, or was deleted.
    package var deviceName: String?
    package var application: String?
    /// Absent if the chunk contains lines of several types.
    package var type: LogType?
    package var ring: Bool?
    package var test: Bool?
    package var chunk = ""
    /// The line's number in the device's log.
    package var line: UInt64 = 0

    package init() {}
}

/// A page of log lines.
package struct LogLinesView: Codable, Equatable, Sendable {
    package var items: [LogLineView] = []
    /// The next page; `null` at the end.
    package var next: String?
    /// Where to ask for what arrives later.
    package var newest = ""
    /// The time up to which every line is on this page or an earlier one. Absent at the end.
    package var through: String?
    /// Bytes of log text that were read for the page.
    package var scannedBytes = 0

    package init() {}

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(items, forKey: .items)
        // `null` says that this is the end.
        try container.encode(next, forKey: .next)
        try container.encode(newest, forKey: .newest)
        try container.encodeIfPresent(through, forKey: .through)
        try container.encode(scannedBytes, forKey: .scannedBytes)
    }
}

/// A line and those around it, oldest first.
package struct LogContextView: Codable, Equatable, Sendable {
    package var items: [LogLineView] = []
    /// The id of the line that was asked for.
    package var line = ""
    package var hasEarlier = false
    package var hasLater = false
    package var scannedBytes = 0

    package init() {}
}
