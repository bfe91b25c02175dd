import Foundation
import JSON
import OTLP
import SwiftProtobuf
import TelemetryBasics
import WireModel

/// The bodies of OTLP's records as JSON for people.
///
/// It follows OTLP's own JSON (lowerCamelCase, identifiers in hex, absent fields stay absent), with these changes:
/// attributes are an object, values are plain JSON, numbers are numbers, and times are RFC 3339 with nanoseconds.
/// Values of bytes are in Base64.
package enum OTLPView {
    /// - Returns: `nil` for another kind, and for a body that is not one.
    package static func json(_ body: Data, of kind: WireRecordKind) -> JSONValue? {
        switch kind {
        case .otlpContext: context(body)
        case .otlpLog: read(OTLPLogRecord.self, body)
        case .otlpMetrics: read(OTLPScopeMetrics.self, body)
        default: nil
        }
    }

    /// The resource and the scope of a context's body. For points it has the same form as for log records.
    package static func context(_ body: Data) -> JSONValue? {
        guard case .object(let read)? = read(OTLPResourceLogs.self, body) else { return nil }
        var context: [String: JSONValue] = [:]
        context["resource"] = read["resource"]
        context["resourceSchemaUrl"] = read["schemaUrl"]
        if case .array(let scopes)? = read["scopeLogs"], case .object(let scope)? = scopes.first {
            context["scope"] = scope["scope"]
            context["scopeSchemaUrl"] = scope["schemaUrl"]
        }
        return .object(context)
    }

    /// What lists of events show of a log record: its event's name, its severity, its body and its attributes.
    package static func log(
        _ body: Data
    ) -> (name: String, severity: String, value: JSONValue, attributes: [String: JSONValue])? {
        guard let log = try? OTLPLogRecord(serializedBytes: body) else { return nil }
        var value = JSONValue.null
        var attributes: [String: JSONValue] = [:]
        if case .object(let members)? = json(body, of: .otlpLog) {
            value = members["body"] ?? .null
            if case .object(let found)? = members["attributes"] { attributes = found }
        }
        let severity = log.severityText.isEmpty ? severity(log.severityNumber.rawValue) : log.severityText
        return (log.eventName, severity, value, attributes)
    }

    /// The short names of the specification: four numbers have one word; the second has a 2 behind it, and so on.
    private static func severity(_ number: Int) -> String {
        let words = ["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"]
        guard (1...24).contains(number) else { return "" }
        let (word, step) = (number - 1).quotientAndRemainder(dividingBy: 4)
        return words[word] + (step == 0 ? "" : "\(step + 1)")
    }

    private static func read<Body: Message>(_ type: Body.Type, _ body: Data) -> JSONValue? {
        var options = JSONEncodingOptions()
        options.alwaysPrintInt64sAsNumbers = true
        options.alwaysPrintEnumsAsInts = true
        guard let message = try? Body(serializedBytes: body),
            let bytes: Data = try? message.jsonUTF8Bytes(options: options),
            let json = try? JSONValue(parsing: bytes, limits: .own)
        else { return nil }
        return refined(json)
    }

    private static func refined(_ json: JSONValue) -> JSONValue {
        switch json {
        case .array(let items): return .array(items.map(refined))
        case .object(let members):
            var refined: [String: JSONValue] = [:]
            for (key, member) in members { refined[key] = Self.refined(member, of: key) }
            return .object(refined)
        default: return json
        }
    }

    private static func refined(_ member: JSONValue, of key: String) -> JSONValue {
        switch (key, member) {
        case ("attributes", .array(let pairs)), ("filteredAttributes", .array(let pairs)),
            ("metadata", .array(let pairs)):
            return object(pairs)
        case ("body", _): return plain(member)
        case ("traceId", .text(let text)), ("spanId", .text(let text)):
            return Data(base64Encoded: text).map { .text($0.hexadecimal) } ?? member
        case (_, .integer(let time)) where key.hasSuffix("UnixNano"): return .text(text(nanoseconds: UInt64(time)))
        case (_, .unsigned(let time)) where key.hasSuffix("UnixNano"): return .text(text(nanoseconds: time))
        default: return refined(member)
        }
    }

    /// Attributes as an object. Their keys and values are data: nothing in them is changed by its name.
    private static func object(_ pairs: [JSONValue]) -> JSONValue {
        var object: [String: JSONValue] = [:]
        for case .object(let pair) in pairs {
            // A key may be empty, and is absent then.
            var key = ""
            if case .text(let text)? = pair["key"] { key = text }
            object[key] = pair["value"].map(plain) ?? .null
        }
        return .object(object)
    }

    /// A value without its type.
    private static func plain(_ value: JSONValue) -> JSONValue {
        guard case .object(let members) = value, let (type, content) = members.first else { return .null }
        switch (type, content) {
        case ("arrayValue", .object(let list)):
            guard case .array(let items)? = list["values"] else { return .array([]) }
            return .array(items.map(plain))
        case ("kvlistValue", .object(let list)):
            guard case .array(let pairs)? = list["values"] else { return .object([:]) }
            return object(pairs)
        default: return content
        }
    }

    private static func text(nanoseconds: UInt64) -> String {
        let (microseconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1000)
        let digits = "\(rest)"
        return Timestamp.text(Int64(microseconds)).dropLast() + String(repeating: "0", count: 3 - digits.count) + digits
            + "Z"
    }
}
