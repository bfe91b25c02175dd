import Foundation
import JSON
import RecordViews
import SwiftProtobuf
import Testing
import WireModel

@Suite("Messages as JSON")
struct MessageViewTests {
    /// Messages whose JSON people see as a whole, by what is nested in them too.
    private static let shown: Set<String> = [
        "Beacon", "Finding", "RuleResult", "Power", "StreamStatus", "DropCount", "CommandResult", "DeviceInformation",
        "SystemIdentity",
        "SystemSample", "AnalyticsSample", "NetworkDataSample", "InterfaceData", "NetworkClassData",
        "NetworkAdapterSample",
        "NetworkAdapter", "WLANSample", "GPSSample", "CustomSample",
    ]

    /// `(message, field as JSON has it, first name of its enum)` for every field of an enum in telemetry.proto.
    private static func enumFields() throws -> [(message: String, field: String, value: String)] {
        let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../Schemas/wire/v1/telemetry.proto")
        let lines = try String(contentsOf: path, encoding: .utf8).split(separator: "\n")
        var firstNames: [Substring: Substring] = [:]
        var (message, lastEnum): (Substring, Substring?) = ("", nil)
        for line in lines {
            let words = line.split(separator: " ")
            if words.first == "enum" { lastEnum = words[1] }
            if let name = lastEnum, words.count > 2, words[1] == "=" { (firstNames[name], lastEnum) = (words[0], nil) }
        }
        var found: [(String, String, String)] = []
        for line in lines {
            var words = line.split(separator: " ")
            if words.first == "message", words.count > 1 { message = words[1] }
            if ["repeated", "optional"].contains(words.first) { words.removeFirst() }
            guard words.count > 3, words[2] == "=", let first = firstNames[words[0]] else { continue }
            let parts = words[1].split(separator: "_")
            found.append(
                (
                    String(message), (parts.prefix(1) + parts.dropFirst().map { $0.capitalized[...] }).joined(),
                    String(first)
                ))
        }
        return found
    }

    @Test func everyEnumThatIsShownLosesThePrefixOfItsValues() throws {
        let fields = try Self.enumFields().filter { Self.shown.contains($0.message) }
        #expect(fields.count >= 18 && fields.contains { $0.field == "deviceCompliance" })
        for (message, field, value) in fields {
            guard case .enumeration(let prefix) = MessageView.fields[message]?[field] else {
                Issue.record("\(message).\(field) is not listed")
                continue
            }
            #expect(["\(prefix)UNKNOWN", "\(prefix)UNSPECIFIED"].contains(value), "\(message).\(field) shows \(value)")
        }
    }

    /// A field of a message type is reached only if each message on the way lists it.
    @Test func everyMessageThatIsListedIsReached() {
        let roots: Set<String> = [
            "Beacon", "CommandResult", "SystemSample", "NetworkDataSample", "NetworkAdapterSample", "GPSSample",
        ]
        let nested = MessageView.fields.values.flatMap(\.values).compactMap { field -> String? in
            if case .message(let name) = field { name } else { nil }
        }
        #expect(Set(MessageView.fields.keys) == roots.union(nested))
    }

    /// A rule by the name of a field once turned a custom sample's attribute `stream=STREAM_A` into `a`.
    @Test func dataThatLooksLikeAnEnumOrATimeStaysAsItCame() throws {
        var sample = WireCustomSample()
        var measurement = WireMeasurement()
        measurement.attributes = [
            "stream": "STREAM_A", "state": "COMPLIANCE_X", "bootId": "AAAAAAAAAAAAAAAAAAAAAA==", "time": "1",
        ]
        sample.measurements = [measurement]
        guard case .object(let fields) = try MessageView.json(sample),
            case .array(let measurements) = fields["measurements"],
            case .object(let first) = measurements.first, case .object(let attributes) = first["attributes"]
        else {
            Issue.record("no attributes")
            return
        }
        #expect(attributes == measurement.attributes.mapValues { .text($0) })
    }

    @Test func aBeaconReadsAsTheRestOfTheAPIDoes() throws {
        var beacon = WireBeacon()
        (beacon.consent, beacon.trigger, beacon.network) = (.granted, .start, .ethernet)
        beacon.processStartTime = 1_769_860_800_000_000
        guard case .object(let fields) = try MessageView.json(beacon) else {
            Issue.record("no object")
            return
        }
        #expect(
            fields["consent"] == .text("granted") && fields["trigger"] == .text("start")
                && fields["network"] == .text("ethernet"))
        #expect(fields["processStartTime"] == .text("2026-01-31T12:00:00.000000Z"))
    }
}
