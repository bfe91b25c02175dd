import FoundationEssentials
import LogStore
import OTLP
import TelemetryBasics
import WireModel

/// The log records of a request as lines of the log store.
///
/// ```
/// body ─► message        severity_number ─► level       scope's name ─► category
/// attributes, resource, scope, identifiers, event_name ─► metadata
/// ```
///
/// An attribute keeps its key. Only where another entry of the metadata has it, `attribute.` stands before it.
struct OTLPLines {
    struct Line: Equatable, Sendable {
        /// Microseconds since 1970.
        var time: Int64
        var entry: LogEntry
        /// About what it takes in memory.
        var bytes: Int
    }

    private(set) var lines: [Line] = []
    private(set) var bytes = 0
    private(set) var tally: OTLPTally

    /// A sender's clock is believed within a day ahead of the arrival and a year before it, as for syslog. A clock that
    /// was never set would put the line where nobody looks.
    private static let aheadMicroseconds: Int64 = 86_400_000_000
    private static let behindMicroseconds: Int64 = 365 * 86_400_000_000
    /// What a line takes beside its texts.
    private static let overhead = 160

    /// - Parameters:
    ///   - request: freed of what the protocol forbids.
    ///   - arrival: microseconds since 1970.
    init(_ request: OTLPLogsRequest, _ tally: OTLPTally, arrival: Int64) {
        self.tally = tally
        for (number, group) in request.resourceLogs.enumerated() {
            var ofResource: [String: String] = [:]
            for attribute in group.resource.attributes {
                ofResource["resource.\(attribute.key)"] = attribute.value.lineText
            }
            ofResource["resourceSchema"] = group.schemaURL.isEmpty ? nil : group.schemaURL
            for (position, scope) in group.scopeLogs.enumerated() {
                var common = ofResource
                for attribute in scope.scope.attributes {
                    common["scope.\(attribute.key)"] = attribute.value.lineText
                }
                let name = scope.scope.name
                let isCategory =
                    name.utf8.count <= LogLimits.categoryBytes && name.utf8.allSatisfy { (0x21...0x7E).contains($0) }
                if !isCategory { common["scope"] = name }
                common["scopeVersion"] = scope.scope.version.isEmpty ? nil : scope.scope.version
                common["scopeSchema"] = scope.schemaURL.isEmpty ? nil : scope.schemaURL
                for record in scope.logRecords {
                    let line = Self.line(of: record, common, category: isCategory ? name : "", arrival: arrival)
                    if line.bytes - Self.overhead > LogLimits.lineBytes {
                        self.tally.warn(.lineCut, at: "resource_logs[\(number)].scope_logs[\(position)]")
                    }
                    lines.append(line)
                    bytes += line.bytes
                }
            }
        }
    }

    private static func line(
        of record: OTLPLogRecord, _ common: [String: String], category: String, arrival: Int64
    ) -> Line {
        let sent = [record.timeUnixNano, record.observedTimeUnixNano].first { $0 > 0 }.map { Int64($0 / 1000) }
        let time = sent.flatMap { time in
            (arrival - behindMicroseconds...arrival + aheadMicroseconds).contains(time) ? time : nil
        }
        var metadata = common
        metadata["event"] = record.eventName.isEmpty ? nil : record.eventName
        metadata["severity"] = record.severityText.isEmpty ? nil : record.severityText
        let severity = record.severityNumber.rawValue
        metadata["severityNumber"] = severity == 0 ? nil : "\(severity)"
        metadata["traceID"] = record.traceID.isEmpty ? nil : record.traceID.hexadecimal
        metadata["spanID"] = record.spanID.isEmpty ? nil : record.spanID.hexadecimal
        metadata["flags"] = record.flags == 0 ? nil : "\(record.flags)"
        metadata["droppedAttributes"] = record.droppedAttributesCount == 0 ? nil : "\(record.droppedAttributesCount)"
        if record.timeUnixNano > 0, record.observedTimeUnixNano > 0,
            record.observedTimeUnixNano != record.timeUnixNano
        {
            metadata["observed"] = Timestamp.text(Int64(record.observedTimeUnixNano / 1000))
        }
        // A time that is not taken is kept as text.
        if let sent, time == nil { metadata["sent"] = Timestamp.text(sent) }
        for attribute in record.attributes {
            let key = metadata[attribute.key] == nil ? attribute.key : "attribute.\(attribute.key)"
            metadata[key] = attribute.value.lineText
        }
        let message = record.hasBody ? record.body.lineText : ""
        let bytes = metadata.reduce(overhead + message.utf8.count) { $0 + $1.key.utf8.count + $1.value.utf8.count + 2 }
        return Line(
            time: time ?? arrival,
            entry: LogEntry(level(severity), message, category: category, metadata: metadata), bytes: bytes)
    }

    /// Four numbers have one word: TRACE, DEBUG, INFO, WARN, ERROR, FATAL. 0 is unknown.
    private static func level(_ severity: Int) -> LogLevel {
        switch severity {
        case 1...8: .verbose
        case 13...16: .warning
        case 17...: .error
        default: .information
        }
    }
}

extension OTLPAnyValue {
    /// A text as it is, bytes in Base64, and all others as JSON without types.
    var lineText: String {
        switch value {
        case .stringValue(let text): return text
        case .bytesValue(let bytes): return bytes.base64EncodedString()
        case nil: return ""
        default:
            var text = ""
            appendJSON(to: &text)
            return text
        }
    }

    /// As deep as the request, which was checked.
    private func appendJSON(to text: inout String) {
        switch value {
        case .boolValue(let flag): text += "\(flag)"
        case .intValue(let number): text += "\(number)"
        // JSON has no number for these.
        case .doubleValue(let number): text += number.isFinite ? "\(number)" : "\"\(number)\""
        case .arrayValue(let list):
            text += "["
            for (place, item) in list.values.enumerated() {
                if place > 0 { text += "," }
                item.appendJSON(to: &text)
            }
            text += "]"
        case .kvlistValue(let list):
            text += "{"
            for (place, item) in list.values.enumerated() {
                if place > 0 { text += "," }
                Self.appendQuoted(item.key, to: &text)
                text += ":"
                item.value.appendJSON(to: &text)
            }
            text += "}"
        case .stringValue(let own): Self.appendQuoted(own, to: &text)
        case .bytesValue(let bytes): Self.appendQuoted(bytes.base64EncodedString(), to: &text)
        case .stringValueStrindex, nil: text += "null"
        }
    }

    private static func appendQuoted(_ own: String, to text: inout String) {
        text += "\""
        for scalar in own.unicodeScalars {
            switch scalar {
            case "\"", "\\":
                text += "\\"
                text.unicodeScalars.append(scalar)
            case "\n": text += "\\n"
            case "\t": text += "\\t"
            case "\r": text += "\\r"
            case _ where scalar.value < 0x20:
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        text += "\""
    }
}
