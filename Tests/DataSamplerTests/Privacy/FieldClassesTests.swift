import Testing
import WireModel

@testable import DataSampler

@Suite struct FieldClassesTests {
    /// What a device is sent or says to itself only. A new message is to be put here, or reached from what is sent.
    static let notSent: Set<String> = [
        "Mark", "RejectCount", "PartAnswer", "BatchAnswer", "ClosedStream", "CloseAnswer", "EnrollAnswer",
        "RotateAnswer",
        "Command", "RequestLogs", "CancelCommand", "SendBeacon", "QueryDeviceInformation", "ReloadProfile",
        "ChangeLogLevel", "Wipe", "EnterpriseWipe",
        "CommandsAnswer", "Profile", "BudgetProfile", "ModuleIntervals", "SamplingProfile", "AnalyticsProfile",
        "LoggingProfile", "DetectionProfile",
        "TransmissionRule", "ComplianceRule", "Geofence", "UploadStatus", "ControlRequest", "ControlResetCredentials",
        "ControlEvent",
        "ControlBeacon",
        "ControlStatus", "ControlBalance", "ControlQueue", "ControlUnenroll", "ControlUnenrollWithWipe", "ControlWipe",
        "ControlReload",
        "ControlConsent",
        "ControlPushToken", "ControlDoNotDisturb", "ControlUnlock", "ControlUser", "ControlProfile", "ControlLog",
        "ControlLogLine",
        "ControlSendLogs", "ControlLogUploads", "ControlAnswer", "ControlFetchDoNotDisturb", "DoNotDisturb",
        "AssignmentsAnswer", "ControlRefresh",
    ]

    /// All tables reachable from what a device sends, by message; a message may have several tables.
    private static func tables() throws -> [String: [MessageFields]] {
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

    @Test func everyFieldOfEveryMessageADeviceSendsHasAClass() throws {
        let schema = try WireSchema()
        let tables = try Self.tables()
        #expect(tables.count > 30)
        for (name, tables) in tables {
            let fields = try #require(schema.messages[name], "\(name) is not in telemetry.proto")
            for table in tables {
                #expect(
                    Set(table.fields.map { "\($0.number) \($0.name)" })
                        == Set(fields.map { "\($0.number) \($0.name)" }),
                    "the table of \(name) does not name the fields that telemetry.proto has")
            }
        }
    }

    @Test func everyMessageIsEitherSentWithClassesOrKnownNotToBeSent() throws {
        let schema = try WireSchema()
        #expect(schema.messages.count > 60)
        let sent = Set(try Self.tables().keys)
        #expect(sent.isDisjoint(with: Self.notSent))
        #expect(Set(schema.messages.keys).subtracting(sent).subtracting(Self.notSent) == [], "decide what these are")
    }

    @Test func aNestedMessageHasTheTableOfItsTypeAndAMarkedFieldTheMarkedClass() throws {
        let schema = try WireSchema()
        var marked = 0
        for (name, tables) in try Self.tables() {
            for field in schema.messages[name] ?? [] {
                for table in tables {
                    let rule = try #require(table.fields.first { $0.number == field.number })
                    switch rule.content {
                    case .technical:
                        #expect(
                            schema.messages[field.type] == nil,
                            "\(name).\(field.name) is a message whose fields must have classes")
                        #expect(
                            !field.type.hasPrefix("map<"),
                            "\(name).\(field.name) is a map whose values must have a class")
                        #expect(field.personal == nil, "\(name).\(field.name) is marked \(field.personal ?? "")")
                    case .personal(let fieldClass, _):
                        #expect(field.personal == nil || field.personal == fieldClass.rawValue, "\(name).\(field.name)")
                        marked += field.personal == nil ? 0 : 1
                    case .inherited:
                        #expect(field.personal == nil, "\(name).\(field.name) has the class of the field it lies in")
                    case .message(let inner, let fieldClass):
                        #expect(inner.name == (field.type.hasPrefix("map<") ? "" : field.type), "\(name).\(field.name)")
                        #expect(
                            field.personal == fieldClass.map(\.rawValue) || field.personal == nil,
                            "\(name).\(field.name)")
                        marked += field.personal == nil ? 0 : 1
                    }
                }
            }
        }
        #expect(marked >= 16, "the marks of telemetry.proto were read")
    }

    @Test func everyRecordKindHasTheTableOfTheMessageItsCommentNames() throws {
        let bodies = try WireSchema().bodies
        let kinds: [(WireRecordKind, String)] = [
            (.beacon, "BEACON"), (.commandResult, "COMMAND_RESULT"), (.event, "EVENT"),
            (.sampleSystem, "SAMPLE_SYSTEM"),
            (.sampleAnalytics, "SAMPLE_ANALYTICS"), (.sampleNetworkData, "SAMPLE_NETWORK_DATA"),
            (.sampleNetworkAdapter, "SAMPLE_NETWORK_ADAPTER"), (.sampleWlan, "SAMPLE_WLAN"), (.sampleGps, "SAMPLE_GPS"),
            (.sampleCustom, "SAMPLE_CUSTOM"),
        ]
        #expect(Set(bodies.keys) == Set(kinds.map(\.1)))
        #expect(kinds.count == WireRecordKind.allCases.count - 1)
        for (kind, name) in kinds { #expect(FieldClasses.body(of: kind)?.name == bodies[name]) }
    }

    @Test func aClassMarkedInTheSchemaIsOneAProfileCanName() throws {
        let marks = Set(try WireSchema().messages.values.flatMap { $0.compactMap(\.personal) })
        #expect(marks == ["user", "position", "ip-address", "mac", "ssid", "bssid"])
        #expect(marks.isSubset(of: Set(FieldClass.decidable.map(\.rawValue))))
    }
}
