import Foundation
import JSON
import SwiftProtobuf
import TelemetryBasics
import WireModel

/// A message as JSON for people. It follows proto3's JSON mapping (camelCase, absent fields stay absent), with these
/// changes: numbers are numbers, enum values are in kebab-case without prefix, times are RFC 3339, identifiers are
/// UUIDs.
///
/// `fields`, generated from telemetry.proto, lists the fields with such changes. Everything else is data and stays
/// unchanged: texts, and the keys and values of maps.
package enum MessageView {
    package enum Field: Equatable {
        /// The common prefix of its values in telemetry.proto.
        case enumeration(String)
        /// Microseconds since 1970.
        case time
        /// 16 bytes.
        case identifier
        /// A message, or a list of them, that lists its own changed fields.
        case message(String)
    }

    package static func json(_ message: any Message) throws -> JSONValue {
        var options = JSONEncodingOptions()
        options.alwaysPrintInt64sAsNumbers = true
        let bytes: Data = try message.jsonUTF8Bytes(options: options)
        let name = type(of: message).protoMessageName.split(separator: ".").last.map(String.init) ?? ""
        return refine(try JSONValue(parsing: bytes, limits: .own), as: .message(name))
    }

    private static func refine(_ value: JSONValue, as field: Field) -> JSONValue {
        switch (value, field) {
        case (.array(let values), _): return .array(values.map { refine($0, as: field) })
        case (.object(var members), .message(let name)):
            for (key, field) in fields[name] ?? [:] {
                if let member = members[key] { members[key] = refine(member, as: field) }
            }
            return .object(members)
        case (.integer(let time), .time): return .text(Timestamp.text(time))
        case (.text(let text), .identifier):
            guard let bytes = Data(base64Encoded: text), let identifier = Identifier<Never>(bytes) else { return value }
            return .text(identifier.description)
        case (.text(let text), .enumeration(let prefix)) where text.hasPrefix(prefix):
            return .text(text.dropFirst(prefix.count).lowercased().replacing("_", with: "-"))
        default: return value
        }
    }
}
