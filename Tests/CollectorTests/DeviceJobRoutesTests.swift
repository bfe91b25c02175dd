import Collector
import CollectorAPI
import Foundation
import HTTPTypes
import HummingbirdTesting
import Logging
import NIOCore
import Registry
import Testing
import WireModel

@Suite("Jobs over devices over HTTP")
struct DeviceJobRoutesTests {
    private static let jobs = "/api/v1/device-jobs"

    private struct Scene: Sendable {
        let harness: MetadataHarness
        let client: any TestClientProtocol
        let devices: [EnrollResult]
        let administrator: String
        var worker: DeviceJobWorker { DeviceJobWorker(metadata: harness.metadata, logger: quiet) }
        private let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

        func post(_ body: String, bearer: String? = nil, key: String? = nil) async throws -> TestResponse {
            var headers: HTTPFields = [.contentType: WireNames.json]
            if let key, let name = HTTPField.Name("Idempotency-Key") { headers[name] = key }
            return try await client.send(
                .post, jobs, bearer: bearer ?? administrator, headers: headers, body: Data(body.utf8))
        }

        /// Asks, confirms, and works the job off.
        /// - Parameter fields: the members of the body.
        func run(_ fields: String, bearer: String? = nil) async throws -> JSONObject {
            let asked = try await post("{\(fields)}", bearer: bearer)
            #expect(asked.status == .ok, "\(String(buffer: asked.body))")
            let confirm = try #require(try asked.json.text("confirm"))
            let begun = try await post(#"{\#(fields), "confirm": "\#(confirm)"}"#, bearer: bearer)
            #expect(begun.status == .accepted, "\(String(buffer: begun.body))")
            while try await worker.pass() {}
            return try await client.json("\(jobs)/\(try #require(try begun.json.text("id")))", bearer: administrator)
        }

        func results(_ job: JSONObject, _ query: String = "") async throws -> [JSONObject] {
            let path = "\(jobs)/\(job.text("id") ?? "")/devices?\(query)"
            return try await client.json(path, bearer: administrator).objects("items")
        }
    }

    private func play(_ count: Int = 5, _ body: @escaping @Sendable (Scene) async throws -> Void) async throws {
        let harness = try MetadataHarness()
        try await harness.route { client in
            var devices: [EnrollResult] = []
            for number in 0..<count {
                var request = WireEnrollRequest()
                (request.deviceName, request.agentVersion) = ("kiosk \(number)", "\(number % 2)")
                devices.append(try await harness.metadata.enroll(token: harness.enrollmentToken, request: request))
            }
            try await body(
                Scene(
                    harness: harness, client: client, devices: devices,
                    administrator: try await harness.person(.administrator)))
        }
    }

    @Test func `What is confirmed is done once to each device and reported for each`() async throws {
        try await play { scene in
            try await scene.harness.metadata.unenroll(device: scene.devices[2].deviceID)
            let fields = #""action": "command", "kind": "send-beacon", "filter": {"agentVersion": "0"}"#
            let asked = try await scene.post("{\(fields)}").json
            #expect(asked.number("devices") == 3 && asked.text("confirm")?.hasPrefix("3-") == true)
            #expect(try await scene.client.json(Self.jobs, bearer: scene.administrator).objects("items").isEmpty)
            let job = try await scene.run(fields)
            #expect(job.text("state") == "done" && job.text("kind") == "send-beacon" && job.text("endedAt") != nil)
            #expect(job.number("devices") == 3 && job.number("done") == 2 && job.number("refused") == 1)
            #expect(job.number("waiting") == 0 && job.object("filter")?.text("agentVersion") == "0")
            #expect(job.text("organization") == "default" && job.text("startedBy") == "administrator")
            let refused = try #require(try await scene.results(job, "result=refused").first)
            #expect(refused.text("device") == scene.devices[2].deviceID.description)
            #expect(refused.text("code") == "device-left" && refused.text("detail") != nil)
            for result in try await scene.results(job, "result=done") {
                let commands = try await scene.client.json(
                    "/api/v1/devices/\(result.text("device") ?? "")/commands", bearer: scene.administrator
                ).objects("items")
                #expect(commands.map { $0.text("id") } == [result.text("command")] && result.text("name") != nil)
            }
            let trail = try await scene.client.json("/api/v1/audit?action=device-job", bearer: scene.administrator)
            #expect(trail.objects("items").map { $0.text("outcome") } == ["done", "begun"])
            let issued = try await scene.client.json("/api/v1/audit?action=command-issue", bearer: scene.administrator)
            #expect(issued.objects("items").allSatisfy { $0.text("job") == job.text("id") })
            #expect(issued.objects("items").count == 2)
        }
    }

    @Test func `A message to a group reaches each of its devices`() async throws {
        try await play { scene in
            let job = try await scene.run(
                #""action": "command", "kind": "message", "arguments": {"text": "closing"}, "#
                    + #""filter": {"agentVersion": "0"}"#)
            #expect(job.text("state") == "done" && job.text("kind") == "message" && job.number("done") == 3)
            #expect(job.object("arguments")?.text("text") == "closing")
            for (number, device) in scene.devices.enumerated() {
                let response = try await scene.client.send(.get, WireNames.commandsPath, bearer: device.credential)
                let given = try response.message(WireCommandsAnswer.self).commands
                #expect(given.map(\.message.text) == (number % 2 == 0 ? ["closing"] : []))
            }
        }
    }

    @Test func `A selection that has changed is not confirmed`() async throws {
        try await play { scene in
            let filter = #""action": "revoke", "filter": {"state": "enrolled"}"#
            let confirm = try #require(try await scene.post("{\(filter)}").json.text("confirm"))
            try await scene.harness.metadata.unenroll(device: scene.devices[0].deviceID)
            try await scene.post(#"{\#(filter), "confirm": "\#(confirm)"}"#).expect(409, "confirmation-outdated")
            let other = #""action": "reinstate", "filter": {"state": "enrolled"}"#
            let ofOther = try #require(try await scene.post("{\(other)}").json.text("confirm"))
            try await scene.post(#"{\#(filter), "confirm": "\#(ofOther)"}"#).expect(409, "confirmation-outdated")
            // A named device that was deleted meanwhile.
            let named = #""action": "delete", "devices": ["\#(scene.devices[1].deviceID)"]"#
            let ofNamed = try #require(try await scene.post("{\(named)}").json.text("confirm"))
            try await scene.harness.metadata.deleteDevice(
                scene.devices[1].deviceID, enrollment: scene.devices[1].enrollmentID, organization: nil,
                by: .commandLine)
            try await scene.post(#"{\#(named), "confirm": "\#(ofNamed)"}"#).expect(409, "confirmation-outdated")
            // Nothing is selected: nothing can be confirmed.
            let none = #""action": "delete", "filter": {"q": "nobody"}"#
            let asked = try await scene.post("{\(none)}").json
            #expect(asked.number("devices") == 0 && asked.text("confirm") == nil)
            try await scene.post(#"{\#(none), "confirm": "0-"}"#).expect(409, "confirmation-outdated")
            #expect(try await scene.client.json(Self.jobs, bearer: scene.administrator).objects("items").isEmpty)
        }
    }

    @Test func `Every action is that of the single device`() async throws {
        try await play { scene in
            func states() async throws -> [String?] {
                try await scene.client.json("/api/v1/devices?sort=name", bearer: scene.administrator).objects("items")
                    .map { $0.text("state") }
            }
            let named = scene.devices[0...1].map { "\"\($0.deviceID)\"" }.joined(separator: ", ")
            let revoked = try await scene.run(#""action": "revoke", "devices": [\#(named)]"#)
            #expect(revoked.number("done") == 2 && revoked.object("filter") == nil)
            #expect(revoked.flag("closeEnrollmentToken") == false)
            #expect(try await states() == ["revoked", "revoked", "enrolled", "enrolled", "enrolled"])
            _ = try await scene.run(#""action": "reinstate", "filter": {"state": "revoked"}"#)
            #expect(try await states() == Array(repeating: "enrolled", count: 5))
            let disturbed = try await scene.run(#""action": "do-not-disturb", "on": true, "filter": {}"#)
            #expect(disturbed.number("refused") == 5 && disturbed.flag("on") == true)
            #expect(
                try await scene.results(disturbed).allSatisfy { $0.text("code") == "do-not-disturb-not-allowed" })
            let deleted = try await scene.run(#""action": "delete", "devices": [\#(named)]"#)
            #expect(
                try await scene.results(deleted).allSatisfy { $0.text("name") == nil && $0.text("result") == "done" })
            #expect(try await states().count == 3)
            let closed = try await scene.run(
                #""action": "revoke", "closeEnrollmentToken": true, "filter": {"q": "kiosk"}"#)
            #expect(closed.number("done") == 3)
            await #expect(throws: EnrollError.tokenRevoked) { _ = try await scene.harness.device() }
            let jobs = try await scene.client.json(Self.jobs + "?limit=2", bearer: scene.administrator)
            #expect(jobs.objects("items").map { $0.text("action") } == ["revoke", "delete"])
            let next = try #require(jobs.text("next"))
            let more = try await scene.client.json(Self.jobs + "?limit=2&cursor=\(next)", bearer: scene.administrator)
            #expect(more.objects("items").map { $0.text("action") } == ["do-not-disturb", "reinstate"])
        }
    }

    @Test func `Whoever may do it to one device may do it to many`() async throws {
        try await play { scene in
            let (viewer, operating) = (
                try await scene.harness.person(.viewer), try await scene.harness.person(.operator)
            )
            let wipe = #"{"action": "command", "kind": "wipe", "filter": {}}"#
            let beacon = #"{"action": "command", "kind": "send-beacon", "filter": {}}"#
            for (body, least) in [
                (beacon, operating), (#"{"action": "do-not-disturb", "on": false, "filter": {}}"#, operating),
                (wipe, scene.administrator), (#"{"action": "revoke", "filter": {}}"#, scene.administrator),
                (#"{"action": "reinstate", "filter": {}}"#, scene.administrator),
                (#"{"action": "delete", "filter": {}}"#, scene.administrator),
            ] {
                try await scene.post(body, bearer: viewer).expect(403, "forbidden")
                if least != operating { try await scene.post(body, bearer: operating).expect(403, "forbidden") }
                #expect(try await scene.post(body, bearer: least).status == .ok, "\(body)")
            }
            // Whoever may not begin a job may not cancel it.
            let confirm = try #require(try await scene.post(wipe).json.text("confirm"))
            let begun = try await scene.post(
                #"{"action": "command", "kind": "wipe", "filter": {}, "confirm": "\#(confirm)"}"#)
            let path = "\(Self.jobs)/\(try #require(try begun.json.text("id")))"
            #expect(begun.headers[.location] == path)
            try await scene.client.send(.post, path + "/cancel", bearer: operating).expect(403, "forbidden")
            for _ in 0..<2 {
                let cancelled = try await scene.client.send(.post, path + "/cancel", bearer: scene.administrator).json
                #expect(cancelled.text("state") == "cancelled" && cancelled.number("waiting") == 5)
            }
            #expect(try await !scene.worker.pass())
            #expect(try await scene.client.json(path, bearer: viewer).number("done") == 0)
        }
    }

    @Test func `A person of one organization selects its devices only`() async throws {
        try await play { scene in
            try await scene.harness.metadata.createOrganization("other")
            let stranger = try await scene.harness.person(.administrator, "other")
            let all = #"{"action": "delete", "filter": {}}"#
            #expect(try await scene.post(all, bearer: stranger).json.number("devices") == 0)
            #expect(
                try await scene.post(
                    #"{"action": "delete", "filter": {"organization": "default"}}"#, bearer: stranger
                ).json.number("devices") == 0)
            try await scene.post(
                #"{"action": "delete", "devices": ["\#(scene.devices[0].deviceID)"]}"#, bearer: stranger
            ).expect(422, "invalid-field")
            // What a person of all organizations does to all of them is not one organization's.
            let confirm = try #require(
                try await scene.post(all, bearer: scene.harness.administrator).json.text("confirm"))
            let ofAll = try await scene.post(
                #"{"action": "delete", "filter": {}, "confirm": "\#(confirm)"}"#, bearer: scene.harness.administrator)
            let path = "\(Self.jobs)/\(try #require(try ofAll.json.text("id")))"
            for bearer in [stranger, scene.administrator] {
                for rest in ["", "/devices"] {
                    try await scene.client.send(.get, path + rest, bearer: bearer).expect(404, "not-found")
                }
                try await scene.client.send(.post, path + "/cancel", bearer: bearer).expect(404, "not-found")
                #expect(try await scene.client.json(Self.jobs, bearer: bearer).objects("items").isEmpty)
            }
            #expect(
                try await scene.client.json(path, bearer: scene.harness.administrator).text("state") == "running")
        }
    }

    @Test func `Wrong requests name the field`() async throws {
        try await play(1) { scene in
            for (body, field) in [
                (#"{"filter": {}}"#, "action"), (#"{"action": "reboot", "filter": {}}"#, "action"),
                (#"{"action": "delete"}"#, "filter"),
                (#"{"action": "delete", "filter": {}, "devices": ["\#(scene.devices[0].deviceID)"]}"#, "filter"),
                (#"{"action": "delete", "filter": "state=silent"}"#, "filter"),
                (#"{"action": "delete", "filter": {"state": "asleep"}}"#, "filter.state"),
                (#"{"action": "delete", "filter": {"state": ["late"]}}"#, "filter.state"),
                (#"{"action": "delete", "filter": {"stat": "late"}}"#, "filter.stat"),
                (#"{"action": "delete", "filter": {"test": "perhaps"}}"#, "filter.test"),
                (#"{"action": "delete", "filter": {"os": ""}}"#, "filter.os"),
                (#"{"action": "delete", "filter": {"sort": "name"}}"#, "filter.sort"),
                (#"{"action": "delete", "devices": ["\#(scene.devices[0].deviceID)", "x"]}"#, "devices[1]"),
                (#"{"action": "delete", "devices": ["\#(DeviceID.random())"]}"#, "devices[0]"),
                (#"{"action": "command", "filter": {}}"#, "kind"),
                (
                    #"""
                    {"action": "command", "kind": "cancel", "arguments": {"command": "\#(CommandID.random())"}, \#
                    "filter": {}}
                    """#,
                    "kind"
                ),
                (#"{"action": "do-not-disturb", "filter": {}}"#, "on"),
                (#"{"action": "delete", "on": true, "filter": {}}"#, "on"),
            ] {
                let answer = try await scene.post(body)
                #expect(try answer.status.code == 422 && answer.problem.field == field, "\(body)")
            }
            let many = (UInt64(0)...10_000).map { "\"\(DeviceID(high: 0, low: $0))\"" }.joined(separator: ",")
            let answer = try await scene.post(#"{"action": "delete", "devices": [\#(many)]}"#)
            #expect(try answer.status.code == 422 && answer.problem.field == "devices")
            #expect(try await scene.post(#"{"action": "delete", "filter": {"test": true}}"#).status == .ok)
            #expect(try await scene.post(#"{"action": "delete", "filter": {"profileRevision": 1}}"#).status == .ok)
            for path in [
                "\(DeviceJobID.random())", "\(DeviceJobID.random())/devices", "x",
            ] {
                try await scene.client.send(.get, "\(Self.jobs)/\(path)", bearer: scene.administrator).expect(
                    404, "not-found")
            }
            try await scene.client.send(
                .post, "\(Self.jobs)/\(DeviceJobID.random())/cancel", bearer: scene.administrator
            ).expect(404, "not-found")
        }
    }

    @Test func `A repeated request with its key begins one job`() async throws {
        try await play { scene in
            let fields = #""action": "reinstate", "filter": {"state": "enrolled"}"#
            let confirm = try #require(try await scene.post("{\(fields)}", key: "k").json.text("confirm"))
            let body = #"{\#(fields), "confirm": "\#(confirm)"}"#
            let begun = try await scene.post(body, key: "k")
            #expect(begun.status == .accepted)
            // The selection is another one now; the request was accepted before.
            _ = try await scene.harness.metadata.revokeDevice(
                scene.devices[0].deviceID, organization: nil, by: .commandLine)
            let again = try await scene.post(body, key: "k")
            #expect(try again.status == .ok && again.json.text("id") == begun.json.text("id"))
            try await scene.post(#"{\#(fields), "confirm": "other"}"#, key: "k").expect(422, "idempotency-key-used")
            try await scene.post(body, key: "l").expect(409, "confirmation-outdated")
        }
    }

    @Test func `The results of many devices come in pages`() async throws {
        try await play(70) { scene in
            let job = try await scene.run(#""action": "reinstate", "filter": {}"#)
            let path = "\(Self.jobs)/\(job.text("id") ?? "")/devices?limit=30&result=done"
            var (found, cursor): ([String], String?) = ([], nil)
            repeat {
                let page = try await scene.client.json(
                    path + (cursor.map { "&cursor=\($0)" } ?? ""), bearer: scene.administrator)
                found += page.objects("items").compactMap { $0.text("device") }
                cursor = page.text("next")
            } while cursor != nil
            #expect(found == scene.devices.map(\.deviceID.description).sorted())
            for query in ["cursor=x", "result=lost", "limit=0"] {
                #expect(
                    try await scene.client.send(.get, path + "&" + query, bearer: scene.administrator).status
                        == .badRequest, "\(query)")
            }
        }
    }

    @Test func `The worker goes on by itself`() async throws {
        try await play { scene in
            let worker = Task { await scene.worker.run(on: .continuous) }
            let fields = #""action": "reinstate", "filter": {}"#
            let confirm = try #require(try await scene.post("{\(fields)}").json.text("confirm"))
            let job = try await scene.post(#"{\#(fields), "confirm": "\#(confirm)"}"#).json
            let path = "\(Self.jobs)/\(job.text("id") ?? "")"
            var state: String?
            repeat {
                state = try await scene.client.json(path, bearer: scene.administrator).text("state")
                await Task.yield()
            } while state == "running"
            #expect(state == "done")
            worker.cancel()
            await worker.value
        }
    }
}
