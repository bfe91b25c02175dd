import Foundation
import JSON
import OTLP
import RecordStore
import SwiftProtobuf
import WireModel

/// A stored record that came as OTLP, as OTLP has it: a `ResourceLogs` with one log record, or a `ResourceMetrics` with
/// the data points of one time.
///
/// It is OTLP's own JSON: identifiers are hex, 64-bit integers are texts, enums are numbers. So whoever reads it can
/// send it on as it is.
enum OTLPRecordView {
    /// - Throws: if the record is of another kind, or cannot be decoded.
    static func json(_ record: StoredRecord) throws -> JSONValue {
        let body = record.header.body(of: record.bytes)
        switch WireRecordKind(rawValue: record.header.kind) {
        case .otlpLog:
            var group = try OTLPResourceLogs(serializedBytes: record.context ?? Data())
            if group.scopeLogs.isEmpty { group.scopeLogs = [OTLPScopeLogs()] }
            group.scopeLogs[0].logRecords = [try OTLPLogRecord(serializedBytes: body)]
            return try json(group)
        case .otlpMetrics:
            var group = try OTLPResourceMetrics(serializedBytes: record.context ?? Data())
            if group.scopeMetrics.isEmpty { group.scopeMetrics = [OTLPScopeMetrics()] }
            group.scopeMetrics[0].metrics = try OTLPScopeMetrics(serializedBytes: body).metrics
            return try json(group)
        default: throw WireError(.invalidField, "a record of kind \(record.header.kind) did not come as OTLP")
        }
    }

    private static func json(_ message: any Message) throws -> JSONValue {
        var options = JSONEncodingOptions()
        options.alwaysPrintEnumsAsInts = true
        let bytes: Data = try message.jsonUTF8Bytes(options: options)
        return try withHexIdentifiers(JSONValue(parsing: bytes, limits: .own))
    }

    /// Every key of OTLP's JSON is a field's name: keys of attributes are values. So these two are identifiers wherever
    /// they are.
    private static let identifiers = ["traceId", "spanId"]

    private static func withHexIdentifiers(_ value: JSONValue) -> JSONValue {
        switch value {
        case .array(let values): return .array(values.map(withHexIdentifiers))
        case .object(var members):
            for (key, member) in members {
                guard identifiers.contains(key), case .text(let text) = member, let bytes = Data(base64Encoded: text)
                else {
                    members[key] = withHexIdentifiers(member)
                    continue
                }
                members[key] = .text(bytes.hexadecimal)
            }
            return .object(members)
        default: return value
        }
    }
}
