import WireModel

/// A line that somebody hands over and waits for.
package struct LogEntry: Equatable, Sendable {
    package var level: LogLevel
    package var category: String
    package var message: String
    package var metadata: [String: String]
    /// Bytes of a message so long that not all of it was read.
    package var leftOutBytes: Int

    package init(
        _ level: LogLevel, _ message: String, category: String = "", metadata: [String: String] = [:], leftOutBytes: Int = 0
    ) {
        self.level = level
        self.message = message
        self.category = category
        self.metadata = metadata
        self.leftOutBytes = leftOutBytes
    }
}

extension LogEntry {
    /// Of a message with more bytes, so many are needed and not one more: what scrubbing looks at, and the sign that there was more.
    package static let messageBytes = LineScrubber.windowBytes + 4
}
