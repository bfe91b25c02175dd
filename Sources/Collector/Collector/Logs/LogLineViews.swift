import CollectorStore
import TelemetryBasics
import WireModel

/// A log line, as people see it.
struct LogLineView: Encodable {
    var id: String
    /// The time by the device's clock.
    var time: String
    var level: String
    var category: String?
    /// Escaped as on disk, and so is `metadata`.
    var text: String
    var metadata: String?
    /// Malformed lines that follow it.
    var unformatted: String?
    var cut: Bool?
    var device: String
    var application: String?
    /// Absent if the chunk contains lines of several types.
    var type: String?
    var ring: Bool?
    var test: Bool?
    var chunk: String
    /// The line's number in the device's log.
    var line: UInt64

    init(_ row: LogLineRow) {
        id = LogCursor.text(row.id)
        time = Timestamp.text(row.id.time)
        level = row.level.name
        category = row.category
        text = row.text
        metadata = row.metadata.isEmpty ? nil : row.metadata
        unformatted = row.unformatted
        cut = row.isCut ? true : nil
        device = row.id.device.description
        application = row.application.isEmpty ? nil : row.application
        type = row.type?.rawValue
        ring = row.ring ? true : nil
        test = row.test ? true : nil
        chunk = String(row.chunk)
        line = row.id.number
    }
}

/// A page of log lines.
struct LogLinesView: Encodable {
    var items: [LogLineView]
    /// The next page; `null` at the end.
    var next: String?
    /// Where to ask for what arrives later.
    var newest: String
    /// The time up to which every line is on this page or an earlier one. Absent at the end.
    var through: String?
    /// Bytes of log text that were read for the page.
    var scannedBytes: Int

    private enum Key: CodingKey { case items, next, newest, through, scannedBytes }

    init(_ page: LogLinePage, _ order: LogLineOrder) {
        items = page.lines.map(LogLineView.init)
        next = page.next.map { LogCursor.text($0, order) }
        newest = LogCursor.text(page.arrival)
        through = page.next.map { Timestamp.text($0.time) }
        scannedBytes = page.scannedBytes
    }

    /// Lines that arrived. `next` is `newest` while there are more at once.
    init(_ arrived: ArrivedLogLines) {
        items = arrived.lines.map(LogLineView.init)
        newest = LogCursor.text(arrived.arrival)
        next = arrived.hasMore ? newest : nil
        scannedBytes = arrived.scannedBytes
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(items, forKey: .items)
        // `null` says that this is the end.
        try container.encode(next, forKey: .next)
        try container.encode(newest, forKey: .newest)
        try container.encodeIfPresent(through, forKey: .through)
        try container.encode(scannedBytes, forKey: .scannedBytes)
    }
}

/// A line and those around it, oldest first.
struct LogContextView: Encodable {
    var items: [LogLineView]
    /// The id of the line that was asked for.
    var line: String
    var hasEarlier: Bool
    var hasLater: Bool
    var scannedBytes: Int

    init(_ context: LogLineContext, of line: LogLineID) {
        items = context.lines.map(LogLineView.init)
        self.line = LogCursor.text(line)
        hasEarlier = context.hasEarlier
        hasLater = context.hasLater
        scannedBytes = context.scannedBytes
    }
}
