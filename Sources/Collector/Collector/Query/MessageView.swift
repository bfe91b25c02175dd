import CollectorStore
import Foundation
import SwiftProtobuf
import WireModel

/// A message as people's JSON: proto3's JSON mapping (camelCase, absent stays absent) with numbers as numbers, enum
/// values in kebab-case without their prefix, times as RFC 3339 and identifiers as UUIDs.
enum MessageView {
    /// Fields of an enum type and the prefixes their values have in telemetry.proto.
    static let enumPrefixes: [String: [String]] = [
        "trigger": ["BEACON_TRIGGER_"],
        "enrollment": ["ENROLLMENT_STATE_"],
        "deviceCompliance": ["COMPLIANCE_"],
        "applicationCompliance": ["COMPLIANCE_"],
        "compromised": ["VERDICT_"],
        "managed": ["VERDICT_"],
        "doNotDisturb": ["VERDICT_"],
        "verdict": ["VERDICT_"],
        "roaming": ["VERDICT_"],
        "network": ["NETWORK_CLASS_"],
        "class": ["NETWORK_CLASS_"],
        "stream": ["STREAM_"],
        "consent": ["CONSENT_"],
        "reason": ["DROP_REASON_", "REJECT_REASON_"],
        "state": ["POWER_STATE_", "COMPLIANCE_", "COMMAND_STATE_"],
    ]
    private static let timeFields: Set<String> = ["processStartTime", "bootTime", "time"]
    private static let identifierFields: Set<String> = ["bootId", "commandId"]

    static func json(_ message: any Message) throws -> JSONValue {
        var options = JSONEncodingOptions()
        options.alwaysPrintInt64sAsNumbers = true
        let bytes: Data = try message.jsonUTF8Bytes(options: options)
        return refine(try JSONValue(parsing: bytes, limits: .own))
    }

    private static func refine(_ value: JSONValue, field: String = "") -> JSONValue {
        switch value {
        case .object(let fields):
            .object(Dictionary(uniqueKeysWithValues: fields.map { ($0.key, refine($0.value, field: $0.key)) }))
        case .array(let values): .array(values.map { refine($0, field: field) })
        case .integer(let time) where timeFields.contains(field): .text(Timestamp.text(time))
        case .text(let text): .text(refine(text, field: field))
        case .null, .boolean, .integer, .unsigned, .real: value
        }
    }

    private static func refine(_ text: String, field: String) -> String {
        if identifierFields.contains(field), let bytes = Data(base64Encoded: text),
            let identifier = Identifier<Never>(bytes)
        {
            return identifier.description
        }
        guard let prefix = enumPrefixes[field]?.first(where: { text.hasPrefix($0) }) else { return text }
        return text.dropFirst(prefix.count).lowercased().replacing("_", with: "-")
    }
}

extension WireBeacon {
    /// What a person of this role sees of it. With a push token its holder can reach the device's application past the
    /// collector, so a viewer, who can cause nothing, does not see it.
    func seen(by role: PersonRole) -> WireBeacon {
        guard role < .operator, hasPushToken else { return self }
        var beacon = self
        beacon.clearPushToken()
        return beacon
    }
}

extension WireValue {
    /// The value alone, and the name of its type.
    var json: (value: JSONValue, type: String) {
        switch value {
        case .text(let value): (.text(value), "string")
        case .integer(let value): (.integer(value), "integer")
        case .real(let value): (.real(value), "double")
        case .boolean(let value): (.boolean(value), "boolean")
        case .date(let value): (.text(Timestamp.text(value)), "date")
        case nil: (.null, "none")
        }
    }
}
