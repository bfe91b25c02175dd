import Collector
import CollectorAPI
import Foundation
import HTTPTypes
import HummingbirdTesting
import Registry
import Testing
import WireModel

@Suite("Assigned applications over HTTP")
struct AssignmentRoutesTests {
    private static let path = "/api/v1/assignments/default"

    private static func put(
        _ client: any TestClientProtocol, _ body: String, bearer: String, ifMatch: String? = nil
    ) async throws -> TestResponse {
        var headers: HTTPFields = [.contentType: WireNames.json]
        if let ifMatch { headers[.ifMatch] = ifMatch }
        return try await client.send(.put, path, bearer: bearer, headers: headers, body: Data(body.utf8))
    }

    private static func assigned(
        _ client: any TestClientProtocol, _ device: EnrollResult
    ) async throws -> WireAssignmentsAnswer {
        try await client.send(.get, WireNames.assignmentsPath, bearer: device.credential)
            .message(WireAssignmentsAnswer.self)
    }

    @Test func `A device is told what is assigned to it or to its groups`() async throws {
        let harness = try MetadataHarness()
        try await harness.route { client in
            let (till, kiosk) = (try await harness.device(), try await harness.device())
            #expect(try await !Self.assigned(client, till).listed, "there is no list")
            #expect(try await client.send(.get, Self.path, bearer: harness.administrator).status == .notFound)
            let list = """
                {"groups": [{"name": "tills", "devices": ["\(till.deviceID)"]}, {"name": "empty"}],
                 "applications": [{"application": "b.shop"}, {"application": "a.till", "group": "tills"},
                                  {"application": "b.shop", "group": "tills"}, {"application": "c.none", "group": \
                "empty"}]}
                """
            let answer = try await Self.put(client, list, bearer: harness.administrator)
            #expect(answer.status == .ok && answer.headers[.eTag] == "\"1\"")
            #expect(try await Self.assigned(client, till).applications == ["a.till", "b.shop"])
            let other = try await Self.assigned(client, kiosk)
            #expect(other.listed && other.applications == ["b.shop"])
            let shown = try await client.json(Self.path, bearer: try await harness.person(.viewer))
            #expect(shown.number("revision") == 1 && shown.text("changedAt") != nil)
            #expect(shown.objects("groups").map { $0.text("name") } == ["tills", "empty"])
            #expect(shown.objects("applications").map { $0.text("group") } == [nil, "tills", "tills", "empty"])
        }
    }

    @Test func `The list is replaced as a whole by administrators, and audited`() async throws {
        let harness = try MetadataHarness()
        try await harness.route { client in
            let body = #"{"applications": [{"application": "a"}]}"#
            let person = try await harness.person(.operator)
            #expect(try await Self.put(client, body, bearer: person).status == .forbidden)
            #expect(
                try await Self.put(client, body, bearer: harness.administrator, ifMatch: "\"1\"").status.code == 412)
            #expect(try await Self.put(client, body, bearer: harness.administrator).status == .ok)
            #expect(try await Self.put(client, "{}", bearer: harness.administrator, ifMatch: "\"1\"").status == .ok)
            #expect(
                try await Self.put(client, body, bearer: harness.administrator, ifMatch: "\"1\"").status.code == 412)
            let device = try await harness.device()
            let assigned = try await Self.assigned(client, device)
            #expect(assigned.listed && assigned.applications.isEmpty)
            let trail = try await harness.metadata.audit(AuditQuery(action: .assignmentsPut), below: nil, limit: 10)
            #expect(trail.rows.map { $0.entry.detail["revision"] } == ["2", "1"])
        }
    }

    @Test(arguments: [
        (#"{"applications": [{"application": "a", "group": "b"}]}"#, "applications[0].group"),
        (#"{"applications": [{"group": "b"}]}"#, "applications[0].application"),
        (#"{"groups": [{"name": "b"}, {"name": "b"}]}"#, "groups[1].name"),
        (#"{"groups": [{"name": "b", "devices": ["x"]}]}"#, "groups[0].devices"),
        (#"{"groups": [{"name": ""}]}"#, "groups[0].name"),
        (#"{"applications": [{"application": "a"}, {"application": "a"}]}"#, "applications[1].application"),
        (#"{"apps": []}"#, "apps"),
    ])
    func `What is wrong in a list is named`(body: String, field: String) async throws {
        let harness = try MetadataHarness()
        try await harness.route { client in
            let refused = try await Self.put(client, body, bearer: harness.administrator)
            #expect(try refused.status == .unprocessableContent && refused.problem.field == field)
        }
    }
}
