import FoundationEssentials
import LogArchive
import MetricCatalog
import OTLP
import RecordStore
import WireModel

extension OTLPLogRecord {
    /// Makes a log record from a line of the archive. Its category becomes the name of the scope, elsewhere.
    ///
    /// What a program sent to the agent as OTLP becomes again what it was: severity, trace and span are in the line's
    /// metadata (`OTLPLines` of the agent).
    init(_ line: LogLineRow) {
        self.init()
        var metadata: [String: String] = [:]
        for pair in LogText.pairs(line.metadata.utf8) {
            metadata[String(decoding: pair.key, as: UTF8.self)] = String(decoding: pair.value, as: UTF8.self)
        }
        timeUnixNano = UInt64(nanosecondsOf: line.id.time)
        observedTimeUnixNano = UInt64(nanosecondsOf: line.receivedAt)
        severityNumber = Self.severity(line.level)
        severityText = metadata.removeValue(forKey: "severity") ?? ""
        if let number = metadata["severityNumber"].flatMap({ Int($0) }), (1...24).contains(number),
            let severity = OTLPSeverity(rawValue: number)
        {
            severityNumber = severity
            metadata["severityNumber"] = nil
        }
        if let id = metadata["traceID"].flatMap({ Self.id($0, bytes: 16) }) {
            (traceID, metadata["traceID"]) = (id, nil)
        }
        if let id = metadata["spanID"].flatMap({ Self.id($0, bytes: 8) }) {
            (spanID, metadata["spanID"]) = (id, nil)
        }
        var message = String(decoding: LogText.unescaped(line.text.utf8), as: UTF8.self)
        // Lines without a head belong to the one before, such as those of a stack.
        if let more = line.unformatted { message += "\n" + (more.hasSuffix("\n") ? more.dropLast() : more[...]) }
        body = OTLPAnyValue(message)
        metadata["ws1.log.type"] = line.type?.rawValue
        var attributes = metadata.mapValues { OTLPAnyValue($0) }
        if line.isCut { attributes["ws1.log.truncated"] = OTLPAnyValue(AttributeValue.boolean(true)) }
        attributes[Self.uidKey] = OTLPAnyValue(
            ItemKey.uid(device: line.id.device, logEpoch: line.id.epoch, line: line.id.number))
        self.attributes = attributes.sorted { $0.key < $1.key }.map { OTLPKeyValue($0.key, $0.value) }
    }

    private static func severity(_ level: LogLevel) -> OTLPSeverity {
        switch level {
        case .error: .error
        case .warning: .warn
        case .information: .info
        case .verbose: .debug
        }
    }

    /// - Returns: `nil` unless it is hexadecimal for so many bytes, not all of them 0.
    private static func id(_ text: String, bytes count: Int) -> Data? {
        let digits = Array(text.utf8)
        guard digits.count == 2 * count else { return nil }
        let bytes = stride(from: 0, to: digits.count, by: 2).compactMap { place in
            digits[place] == UInt8(ascii: "+")
                ? nil : UInt8(String(decoding: digits[place..<place + 2], as: UTF8.self), radix: 16)
        }
        return bytes.count == count && bytes.contains { $0 != 0 } ? Data(bytes) : nil
    }
}
