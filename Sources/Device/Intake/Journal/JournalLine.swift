import LogStore
import WireModel

/// Makes a line of the store of an entry of the journal, or passes it by.
struct JournalLine: Sendable {
    private static let cursorName = "__CURSOR"
    private static let timeName = "__REALTIME_TIMESTAMP"
    /// The first and the last microsecond that a line may have: 1970 to the end of 9999.
    private static let times: ClosedRange<Int64> = 0...253_402_300_799_999_999

    private let filter: JournalIntake.Filter
    private let fields: [String]

    init(_ filter: JournalIntake.Filter, fields: [String]) {
        self.filter = filter
        self.fields = fields
    }

    /// The fields that are looked at.
    var wanted: Set<String> {
        Set([
            Self.cursorName, Self.timeName, "MESSAGE", "PRIORITY", "SYSLOG_IDENTIFIER", "_COMM", "_PID",
            "_SYSTEMD_UNIT",
            "_SYSTEMD_USER_UNIT",
        ]).union(fields)
    }

    /// `nil` if the entry has none, or a cut one.
    static func cursor(of entry: JournalExportParser.Entry) -> JournalCursor? {
        guard let field = entry[cursorName], field.leftOutBytes == 0, !field.value.isEmpty else { return nil }
        return JournalCursor(String(decoding: field.value, as: UTF8.self))
    }

    /// Microseconds since 1970, of the clock of when journald received the entry.
    static func time(of entry: JournalExportParser.Entry) -> Int64? {
        guard let digits = text(of: entry[timeName]), let value = Int64(digits), times.contains(value) else {
            return nil
        }
        return value
    }

    /// - Returns: `nil` if the filter passes it by.
    func line(of entry: JournalExportParser.Entry) -> LogEntry? {
        let priority = Self.text(of: entry["PRIORITY"]).flatMap { Int($0) } ?? 6
        guard priority <= filter.priority else { return nil }
        let identifier = Self.text(of: entry["SYSLOG_IDENTIFIER"]) ?? Self.text(of: entry["_COMM"])
        let unit = Self.text(of: entry["_SYSTEMD_UNIT"]), userUnit = Self.text(of: entry["_SYSTEMD_USER_UNIT"])
        if !filter.identifiers.isEmpty, !(identifier.map(filter.identifiers.contains) ?? false) { return nil }
        if let unit, unit == filter.excludedUnit { return nil }
        if !filter.units.isEmpty {
            guard unit.map(filter.units.contains) ?? false || userUnit.map(filter.units.contains) ?? false else {
                return nil
            }
        }
        var metadata: [String: String] = [:]
        metadata["identifier"] = identifier
        metadata["unit"] = userUnit ?? unit
        metadata["pid"] = Self.text(of: entry["_PID"])
        for name in fields { metadata[name] = Self.text(of: entry[name]) }
        if entry.leftOutFields > 0 { metadata["fieldsLeftOut"] = "\(entry.leftOutFields)" }
        return LogEntry(SyslogPriority.level(priority), Self.text(of: entry["MESSAGE"]) ?? "", metadata: metadata)
    }

    /// Bytes that are no UTF-8 become U+FFFD; a cut value ends in a mark with the bytes that are not there.
    private static func text(of field: JournalExportParser.Field?) -> String? {
        guard let field else { return nil }
        let text = String(decoding: field.value, as: UTF8.self)
        return field.leftOutBytes > 0 ? "\(text)…[+\(field.leftOutBytes)]" : text
    }
}
