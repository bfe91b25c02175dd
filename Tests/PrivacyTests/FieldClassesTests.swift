import SwiftProtobuf
import Testing
import WireModel

@testable import Privacy

/// Tools/wire/tests.py checks that no field is without a class. These tests check what the tables say of the messages
/// that the device makes.
@Suite struct FieldClassesTests {
    /// All tables reachable from what a device sends, by message; a message may have several tables.
    private static func tables() -> [String: [MessageFields]] {
        var tables: [String: [MessageFields]] = [:]
        func visit(_ table: MessageFields) {
            if !table.name.isEmpty { tables[table.name, default: []].append(table) }
            for field in table.fields {
                if case .message(let inner, _) = field.content { visit(inner) }
            }
        }
        for table in FieldClasses.requests + WireRecordKind.allCases.compactMap(FieldClasses.body(of:)) { visit(table) }
        return tables
    }

    @Test func `Every kind of record has the table of the message in its body`() {
        let kinds = WireRecordKind.allCases.filter { $0 != .unspecified }
        #expect(kinds.count > 8)
        for kind in kinds {
            #expect(kind.body?.protoMessageName == FieldClasses.body(of: kind).map { "ws1.telemetry.v1.\($0.name)" })
        }
    }

    @Test func `Fields that report of a person have these classes`() {
        var personal: [String: Set<String>] = [:]
        for (name, tables) in Self.tables() {
            for field in tables.flatMap(\.fields) {
                switch field.content {
                case .personal(let fieldClass, _), .message(_, let fieldClass?):
                    personal[fieldClass.rawValue, default: []].insert("\(name).\(field.name)")
                case .technical, .inherited, .message(_, nil): break
                }
            }
        }
        #expect(
            personal == [
                "device-name": [
                    "Beacon.device_name", "EnrollRequest.device_name", "SystemIdentity.host_name",
                    "UploadChunk.file_name",
                ],
                "user": ["Beacon.user_email", "Beacon.user_full_name", "Beacon.user_display_name"],
                "ssid": ["WLANInterface.ssid"], "bssid": ["WLANInterface.bssid"],
                "mac": ["InterfaceData.name", "NetworkAdapter.name", "NetworkAdapter.mac", "WLANInterface.name"],
                "ip-address": [
                    "InterfaceAddress.address", "NetworkAdapterSample.default_gateways",
                    "NetworkAdapterSample.dns_servers",
                ],
                "position": [
                    "Location.latitude", "Location.longitude", "Location.altitude_meters", "Location.accuracy_meters",
                    "Beacon.location", "GPSSample.location", "GPSSample.speed_meters_per_second",
                    "GPSSample.course_degrees", "GPSSample.vertical_accuracy_meters",
                ],
                "event": ["Event.value", "Event.attributes"], "custom": ["Measurement.attributes", "Value.text"],
                "path": ["FileSystem.mount_point", "FileSystem.device"],
                "detail": ["Finding.evidence", "CommandResult.detail", "DeviceInformation.attributes"],
            ])
    }

    @Test func `Only texts of a measurement's value are personal`() throws {
        let measurement = try #require(
            FieldClasses.measurement.fields.first { $0.name == "value" })
        guard case .message(let value, nil) = measurement.content else {
            Issue.record("the value has no table, or a class as a whole")
            return
        }
        for field in value.fields {
            if case .personal(.custom, .text) = field.content {
                #expect(field.name == "text")
            } else if case .technical = field.content {
                #expect(field.name != "text")
            } else {
                Issue.record("\(field.name) is neither")
            }
        }
    }
}
