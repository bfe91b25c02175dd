import CollectorAPI
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Registry
import StoreTestKit
import Testing
import WireModel

@Suite("Commands over HTTP")
struct CommandRoutesTests {
    /// One device, and what people and it say to the collector.
    private struct Scene: Sendable {
        let harness: MetadataHarness
        let client: any TestClientProtocol
        let device: EnrollResult
        let person: String
        var path: String { "/api/v1/devices/\(device.deviceID)/commands" }

        func issue(_ body: String, bearer: String? = nil, key: String? = nil) async throws -> TestResponse {
            var headers: HTTPFields = [.contentType: WireNames.json]
            if let key, let name = HTTPField.Name("Idempotency-Key") { headers[name] = key }
            return try await client.send(.post, path, bearer: bearer ?? person, headers: headers, body: Data(body.utf8))
        }

        func given(_ device: EnrollResult? = nil) async throws -> [WireCommand] {
            let response = try await client.send(
                .get, WireNames.commandsPath, bearer: (device ?? self.device).credential)
            return try response.message(WireCommandsAnswer.self).commands
        }

        /// Sends results as records and returns the commands on the answer.
        func report(_ results: [(WireCommand, WireCommandState, String)]) async throws -> [WireCommand] {
            try await send(Self.part(results))
        }

        static func part(_ results: [(WireCommand, WireCommandState, String)]) -> BatchPart {
            var chain = ChainBuilder(stream: .status)
            let bodies = results.map { command, state, detail in
                var result = WireCommandResult()
                (result.commandID, result.state, result.detail, result.progress) = (command.id, state, detail, 5000)
                return result.encoded
            }
            return chain.part(kind: .commandResult, bodies: bodies)
        }

        func send(_ part: BatchPart) async throws -> [WireCommand] {
            let answer = try await client.post(WireNames.batchesPath, bearer: device.credential, [part].request)
            return try answer.message(WireBatchAnswer.self).commands
        }

        func state(_ id: String) async throws -> String? {
            try await client.json("\(path)/\(id)", bearer: person).text("state")
        }
    }

    private func play(_ body: @escaping @Sendable (Scene) async throws -> Void) async throws {
        let harness = try MetadataHarness()
        try await harness.route { client in
            try await body(
                Scene(
                    harness: harness, client: client, device: try await harness.device(),
                    person: try await harness.person(.operator)))
        }
    }

    @Test func `A command is given until its end is reported`() async throws {
        try await play { scene in
            let issued = try await scene.issue(#"{"kind": "send-beacon", "expiresInSeconds": 60}"#)
            #expect(issued.status == .created)
            let id = try #require(try issued.json.text("id"))
            #expect(try issued.headers[.location] == "\(scene.path)/\(id)" && issued.json.text("state") == "queued")
            let given = try await scene.given()
            let command = try #require(given.first)
            #expect(
                given.count == 1 && command.enrollmentID == scene.device.enrollmentID
                    && CommandID(command.id)?.description == id)
            #expect(command.expires == Harness.now + 60_000_000)
            #expect(
                try await scene.report([(command, .received, ""), (command, .running, "half")]).map(\.id) == [
                    command.id
                ])
            let running = try await scene.client.json("\(scene.path)/\(id)", bearer: scene.person)
            #expect(
                running.text("state") == "running" && running.text("detail") == "half"
                    && running["progress"] as? Double == 0.5)
            #expect(try await scene.report([(command, .notNow, "later")]).count == 1)
            #expect(try await scene.state(id) == "not-now")
            #expect(try await scene.report([(command, .done, "sent")]).isEmpty)
            #expect(try await scene.state(id) == "done")
            #expect(try await scene.given().isEmpty)
            // A late word changes nothing any more.
            _ = try await scene.report([(command, .running, "ghost"), (command, .failed, "ghost")])
            #expect(try await scene.state(id) == "done")
        }
    }

    @Test
    func `The end of a wipe that was stored before the collector was killed counts when its part comes again`()
        async throws
    {
        try await play { scene in
            let issued = try await scene.issue(#"{"kind": "wipe"}"#, bearer: scene.harness.administrator)
            let id = try #require(try issued.json.text("id"))
            let command = try #require(try await scene.given().first)
            let part = Scene.part([(command, .running, ""), (command, .done, "")])
            // The record is stored, and the collector was killed before it read what the record says.
            _ = await scene.harness.store.append([part], from: scene.device.deviceID, receivedAt: Harness.now)
            #expect(try await scene.state(id) == "queued")
            #expect(try await scene.send(part).isEmpty)
            #expect(try await scene.state(id) == "done")
        }
    }

    @Test func `The same key issues one command`() async throws {
        try await play { scene in
            let body = #"{"kind": "reload-profile"}"#
            let first = try await scene.issue(body, key: "k")
            let second = try await scene.issue(body, key: "k")
            #expect(first.status == .created && second.status == .ok)
            #expect(try first.json.text("id") == second.json.text("id"))
            #expect(try await scene.given().count == 1)
            let other = try await scene.issue(#"{"kind": "send-beacon"}"#, key: "k")
            #expect(try other.status == .unprocessableContent && other.problem.code == "idempotency-key-used")
            #expect(try await scene.issue(body, key: "l").status == .created)
            #expect(try await scene.issue(body, key: String(repeating: "k", count: 256)).status == .badRequest)
        }
    }

    @Test func `Commands of all devices are listed newest first and by kind`() async throws {
        try await play { scene in
            let other = try await scene.harness.device()
            let kinds = ["request-logs", "send-beacon", "request-logs", "reload-profile"]
            for (number, kind) in kinds.enumerated() {
                let device = number == 2 ? other.deviceID : scene.device.deviceID
                let issued = try await scene.client.send(
                    .post, "/api/v1/devices/\(device)/commands", bearer: scene.person,
                    headers: [.contentType: WireNames.json], body: Data(#"{"kind": "\#(kind)"}"#.utf8))
                #expect(issued.status == .created)
            }
            func list(_ query: String, bearer: String? = nil) async throws -> (items: [JSONObject], next: String?) {
                let page = try await scene.client.json(
                    "/api/v1/device-commands?\(query)", bearer: bearer ?? scene.person)
                return (page.objects("items"), page.text("next"))
            }
            let all = try await list("").items
            #expect(all.compactMap { $0.text("kind") } == kinds.reversed())
            #expect(all.map { $0.text("deviceName") } == Array(repeating: "kiosk", count: kinds.count))
            let first = try await list("kind=request-logs&limit=1")
            #expect(first.items.map { $0.text("device") } == ["\(other.deviceID)"])
            let second = try await list("kind=request-logs&limit=1&cursor=\(try #require(first.next))")
            #expect(second.items.map { $0.text("device") } == ["\(scene.device.deviceID)"])
            let third = try await list("kind=request-logs&cursor=\(try #require(second.next))")
            #expect(third.items.isEmpty && third.next == nil)
            try await scene.client.send(.get, "/api/v1/device-commands?kind=dance", bearer: scene.person)
                .expect(400, "invalid-parameter")
            try await scene.harness.metadata.createOrganization("other")
            let stranger = try await scene.harness.person(.administrator, "other")
            #expect(try await list("", bearer: stranger).items.isEmpty)
        }
    }

    @Test func `It expires by the collector's clock, and a real end is still accepted`() async throws {
        try await play { scene in
            let issued = try await scene.issue(#"{"kind": "send-beacon", "expiresInSeconds": 60}"#)
            let id = try #require(try issued.json.text("id"))
            let command = try #require(try await scene.given().first)
            scene.harness.clock.advance(seconds: 60)
            #expect(try await scene.given().isEmpty)
            #expect(try await scene.state(id) == "expired")
            _ = try await scene.report([(command, .done, "just before")])
            #expect(try await scene.state(id) == "done")
        }
    }

    @Test func `Re-enrollment never gets an old wipe`() async throws {
        try await play { scene in
            let wipe = try await scene.issue(
                #"{"kind": "wipe", "arguments": {"reason": "lost"}}"#, bearer: scene.harness.administrator)
            #expect(wipe.status == .created)
            #expect(try await scene.given().count == 1)
            let again = try await scene.harness.device(previous: scene.device)
            #expect(again.deviceID == scene.device.deviceID && again.enrollmentID != scene.device.enrollmentID)
            #expect(try await scene.given(again).isEmpty)
            #expect(try await scene.state(try #require(try wipe.json.text("id"))) == "expired")
            _ = try await scene.issue(#"{"kind": "send-beacon"}"#)
            #expect(try await scene.given(again).map(\.enrollmentID) == [again.enrollmentID])
        }
    }

    @Test func `An enterprise wipe is an action of its own that stays done when the device has left`() async throws {
        try await play { scene in
            let issued = try await scene.issue(
                #"{"kind": "enterprise-wipe", "arguments": {"reason": "lost"}}"#, bearer: scene.harness.administrator)
            #expect(try issued.status == .created && issued.json.text("kind") == "enterprise-wipe")
            let id = try #require(try issued.json.text("id"))
            let command = try #require(try await scene.given().first)
            guard case .enterpriseWipe(let wipe) = command.action else {
                Issue.record("an older device must not take it for another action: \(command)")
                return
            }
            #expect(wipe.reason == "lost")
            #expect(try await scene.report([(command, .done, "")]).isEmpty)
            let left = try await scene.client.send(.post, WireNames.unenrollPath, bearer: scene.device.credential)
            #expect(left.status == .noContent)
            #expect(try await scene.state(id) == "done")
        }
    }

    @Test(arguments: ["wipe", "enterprise-wipe"])
    func `Logs stay at the collector when their device is wiped`(_ kind: String) async throws {
        try await play { scene in
            let sender = UploadScene(
                harness: scene.harness, client: scene.client, device: scene.device, person: scene.person)
            var book = LogBook()
            try book.add(segment: 1, positions: 1...20, from: Harness.now)
            try await sender.upload(book)
            let issued = try await scene.issue(#"{"kind": "\#(kind)"}"#, bearer: scene.harness.administrator)
            let id = try #require(try issued.json.text("id"))
            let command = try #require(try await scene.given().first)
            _ = try await scene.report([(command, .done, "")])
            if kind == "enterprise-wipe" {
                let left = try await scene.client.send(.post, WireNames.unenrollPath, bearer: scene.device.credential)
                #expect(left.status == .noContent)
            }
            #expect(try await scene.state(id) == "done")
            let query = "device=\(scene.device.deviceID)"
            let listed = try await scene.client.json("/api/v1/logs?\(query)", bearer: scene.person).objects("items")
            #expect(listed.compactMap { $0.number("lastLine") } == [1_000_020])
            let content = try await scene.client.send(.get, "/api/v1/logs/content?\(query)", bearer: scene.person)
            #expect(content.status == .ok && Data(content.body.readableBytesView) == book.chunks[0].text)
            #expect(sender.files.count == 1)
        }
    }

    @Test(arguments: ["wipe", "enterprise-wipe"])
    func `Only an administrator wipes, and a viewer only looks`(_ kind: String) async throws {
        try await play { scene in
            let wipe = #"{"kind": "\#(kind)"}"#
            #expect(try await scene.issue(wipe).status == .forbidden)
            #expect(
                try await scene.issue(#"{"kind": "send-beacon"}"#, bearer: try await scene.harness.person(.viewer))
                    .status == .forbidden)
            #expect(try await scene.given().isEmpty)
            let list = try await scene.client.json(scene.path, bearer: try await scene.harness.person(.viewer))
            #expect(list.objects("items").isEmpty)
            try await scene.harness.metadata.createOrganization("other")
            let stranger = try await scene.harness.person(.administrator, "other")
            #expect(try await scene.issue(wipe, bearer: stranger).status == .notFound)
            #expect(try await scene.client.send(.get, scene.path, bearer: stranger).status == .notFound)
        }
    }

    @Test(arguments: [
        (#"{"arguments": {}}"#, "kind"), (#"{"kind": "dance"}"#, "kind"),
        (#"{"kind": "send-beacon", "arguments": {"x": 1}}"#, "arguments.x"),
        (#"{"kind": "send-beacon", "now": true}"#, "now"),
        (#"{"kind": "send-beacon", "expiresInSeconds": 0}"#, "expiresInSeconds"),
        (#"{"kind": "send-beacon", "expiresInSeconds": 9999999}"#, "expiresInSeconds"),
        (#"{"kind": "send-beacon", "expiresAt": "2020-01-01T00:00:00Z"}"#, "expiresAt"),
        (#"{"kind": "request-logs", "arguments": {"mode": "capture"}}"#, "arguments.captureSeconds"),
        (#"{"kind": "request-logs", "arguments": {"captureSeconds": 5}}"#, "arguments.captureSeconds"),
        (
            #"{"kind": "request-logs", "arguments": {"mode": "capture", "captureSeconds": 5, "type": "crash"}}"#,
            "arguments.type"
        ),
        (
            #"{"kind": "request-logs", "arguments": {"mode": "capture", "captureSeconds": 86401}}"#,
            "arguments.captureSeconds"
        ),
        (#"{"kind": "request-logs", "arguments": {"level": "loud"}}"#, "arguments.level"),
        (#"{"kind": "change-log-level", "arguments": {"level": "error"}}"#, "arguments.durationSeconds"),
        (#"{"kind": "change-log-level", "arguments": {"durationSeconds": 5}}"#, "arguments.level"),
        (#"{"kind": "message"}"#, "arguments.text"),
        (#"{"kind": "message", "arguments": {"text": "a\u001bb"}}"#, "arguments.text"),
        (#"{"kind": "message", "arguments": {"text": "a", "payload": "%"}}"#, "arguments.payload"),
        (#"{"kind": "message", "arguments": {"payload": "AA=="}}"#, "arguments.contentType"),
        (#"{"kind": "message", "arguments": {"payload": "AA==", "contentType": "png"}}"#, "arguments.contentType"),
        (#"{"kind": "message", "arguments": {"text": "a", "contentType": "image/png"}}"#, "arguments.contentType"),
        (#"{"kind": "message", "arguments": {"text": "a", "reason": "b"}}"#, "arguments.reason"),
        (#"{"kind": "cancel"}"#, "arguments.command"),
        (#"{"kind": "cancel", "arguments": {"command": "7d9f3a52-6c1e-4b0f-9a57-0d6a5f2b8c11"}}"#, "arguments.command"),
    ])
    func `What cannot be is refused by the name of its field`(body: String, field: String) async throws {
        try await play { scene in
            let response = try await scene.issue(body)
            #expect(response.status == .unprocessableContent, "\(String(buffer: response.body))")
            #expect(try response.problem.field == field)
            #expect(try await scene.given().isEmpty)
        }
    }

    @Test(arguments: ["wipe", "enterprise-wipe"])
    func `Whoever may not wipe may not cancel a wipe`(kind: String) async throws {
        try await play { scene in
            let administrator = try await scene.harness.person(.administrator)
            let wipe = try await scene.issue(#"{"kind": "\#(kind)"}"#, bearer: administrator)
            #expect(wipe.status == .created)
            let id = try #require(try wipe.json.text("id"))
            let cancel = #"{"kind": "cancel", "arguments": {"command": "\#(id)"}}"#
            #expect(try await scene.issue(cancel).status == .forbidden)
            #expect(try await scene.given().count == 1)
            let cancelled = try await scene.issue(cancel, bearer: administrator)
            #expect(cancelled.status == .created)
            // Nor end the administrator's cancellation, which would let the wipe go on.
            let second = try #require(try cancelled.json.text("id"))
            let again = #"{"kind": "cancel", "arguments": {"command": "\#(second)"}}"#
            #expect(try await scene.issue(again).status == .forbidden)
        }
    }

    @Test func `Every kind reaches the device with its arguments`() async throws {
        try await play { scene in
            let first = try await scene.issue(
                #"""
                {"kind": "request-logs", "arguments": {"mode": "capture", "captureSeconds": 60, "type": \#
                "application", "application": "com.example.kiosk", "level": "warning",
                 "since": "2026-01-31T12:00:00Z", "maximumBytes": 5000000, "categories": ["net"], "text": "x", \#
                "includeVerboseRing": true}}
                """#)
            let id = try #require(try first.json.text("id"))
            for body in [
                #"{"kind": "cancel", "arguments": {"command": "\#(id)"}}"#,
                #"{"kind": "change-log-level", "arguments": {"level": "verbose", "durationSeconds": 600}}"#,
                #"{"kind": "query-device-information"}"#, #"{"kind": "reload-profile", "arguments": {}}"#,
            ] {
                #expect(try await scene.issue(body).status == .created, "\(body)")
            }
            let given = try await scene.given()
            #expect(given.count == 5)
            let logs = given[0].requestLogs
            #expect(
                logs.mode == .capture && logs.captureSeconds == 60 && logs.type == .application
                    && logs.level == .warning)
            #expect(logs.application == "com.example.kiosk")
            #expect(
                logs.since == 1_769_860_800_000_000 && !logs.hasUntil && logs.maximumBytes == 5_000_000
                    && logs.categories == ["net"])
            #expect(given[1].cancel.commandID == given[0].id && given[2].changeLogLevel.durationSeconds == 600)
            #expect(given[3].action == .queryDeviceInformation(.init()) && given[4].action == .reloadProfile(.init()))
            let list = try await scene.client.json(scene.path + "?limit=3", bearer: scene.person)
            let rest = try await scene.client.json(
                scene.path + "?limit=3&cursor=\(list.text("next") ?? "")", bearer: scene.person)
            #expect(list.objects("items").count == 3 && rest.objects("items").count == 2 && rest.text("next") == nil)
            let kinds = Set((list.objects("items") + rest.objects("items")).compactMap { $0.text("kind") })
            #expect(
                kinds == ["request-logs", "cancel", "change-log-level", "query-device-information", "reload-profile"])
        }
    }

    /// A device mostly keeps verbose lines in its ring alone, so the level without the ring would bring none.
    @Test func `A request for the level verbose is for the ring, too`() async throws {
        try await play { scene in
            let capture = #""mode": "capture", "captureSeconds": 60, "level": "verbose""#
            let table: [(arguments: String, ring: Bool)] = [
                (#""level": "verbose""#, true), (#""level": "verbose", "includeVerboseRing": false"#, false),
                (#""level": "information""#, false), (#""level": "error", "includeVerboseRing": true"#, true),
                ("", false), (capture, false),
            ]
            for row in table {
                let body = #"{"kind": "request-logs", "arguments": {\#(row.arguments)}}"#
                let issued = try await scene.issue(body)
                #expect(issued.status == .created, "\(row.arguments)")
            }
            let given = try await scene.given()
            #expect(given.map(\.requestLogs.includeVerboseRing) == table.map { $0.ring })
        }
    }

    @Test func `What a device reports about itself is shown`() async throws {
        try await play { scene in
            let issued = try await scene.issue(#"{"kind": "query-device-information"}"#)
            let command = try #require(try await scene.given().first)
            var result = WireCommandResult()
            (result.commandID, result.state) = (command.id, .done)
            result.deviceInformation.modules = ["system"]
            var chain = ChainBuilder(stream: .status)
            let part = chain.part(kind: .commandResult, bodies: [result.encoded])
            _ = try await scene.client.post(WireNames.batchesPath, bearer: scene.device.credential, [part].request)
            let id = try #require(try issued.json.text("id"))
            let shown = try await scene.client.json("\(scene.path)/\(id)", bearer: scene.person)
            #expect(
                shown.object("deviceInformation")?["modules"] as? [String] == ["system"]
                    && shown["progress"] as? Double == 1)
        }
    }

    @Test func `What a device sends as the certificate of a wipe is shown, also if it is wrong`() async throws {
        try await play { scene in
            let issued = try await scene.issue(#"{"kind": "wipe"}"#, bearer: scene.harness.administrator)
            let command = try #require(try await scene.given().first)
            var result = WireCommandResult()
            (result.commandID, result.state, result.wipeCertificate) = (command.id, .done, "garbage <b>")
            var chain = ChainBuilder(stream: .status)
            let part = chain.part(kind: .commandResult, bodies: [result.encoded])
            _ = try await scene.client.post(WireNames.batchesPath, bearer: scene.device.credential, [part].request)
            let id = try #require(try issued.json.text("id"))
            let shown = try #require(
                try await scene.client.json("\(scene.path)/\(id)", bearer: scene.person).object("wipeCertificate"))
            #expect(shown["isVerified"] as? Bool == false)
            #expect(shown.text("finding")?.contains("no wipe certificate") == true)
            #expect(shown.text("file")?.contains("garbage <b>") == true && shown["method"] == nil)
        }
    }

    @Test func `A key that is none is refused when a device enrolls`() async throws {
        try await play { scene in
            var request = WireEnrollRequest()
            request.wipeSigningKey = Data(count: 31)
            let refused = try await scene.client.send(
                .post, WireNames.enrollPath, bearer: scene.harness.enrollmentToken,
                headers: [.contentType: WireNames.protobuf], body: request.encoded)
            #expect(try refused.status == .badRequest && refused.problem.detail?.contains("31 bytes") == true)
        }
    }

    @Test func `A device that left gets no commands and is shown so`() async throws {
        try await play { scene in
            #expect(
                try await scene.client.send(.post, WireNames.unenrollPath, bearer: scene.device.credential).status
                    == .noContent)
            let refused = try await scene.issue(#"{"kind": "send-beacon"}"#)
            #expect(try refused.status == .conflict && refused.problem.code == "device-left")
            let shown = try await scene.client.json("/api/v1/devices/\(scene.device.deviceID)", bearer: scene.person)
            #expect(shown.text("state") == "left" && shown.text("leftAt") != nil)
            let again = try await scene.harness.device(previous: scene.device)
            #expect(again.deviceID == scene.device.deviceID)
            #expect(try await scene.issue(#"{"kind": "send-beacon"}"#).status == .created)
        }
    }

    @Test func `A message reaches the device with text and payload, and the audit trail has neither`() async throws {
        try await play { scene in
            let issued = try await scene.issue(
                #"""
                {"kind": "message", "arguments": {"text": "Please \"restart\"\n\tnow", "payload": "AP8=", \#
                "contentType": "image/png"}}
                """#)
            #expect(issued.status == .created)
            let message = try #require(try await scene.given().first).message
            #expect(message.text == "Please \"restart\"\n\tnow" && message.payload == Data([0, 255]))
            #expect(message.contentType == "image/png")
            let arguments = try #require(try issued.json.object("arguments"))
            #expect(arguments.text("text") == message.text && arguments.text("payload") == "AP8=")
            #expect(arguments.text("contentType") == "image/png")
            let trail = try await scene.client.json(
                "/api/v1/audit?action=command-issue", bearer: scene.harness.administrator)
            #expect(trail.objects("items").first?.object("detail")?.text("kind") == "message")
            #expect(!"\(trail)".contains("restart"))
            let viewer = try await scene.harness.person(.viewer)
            let refused = try await scene.issue(
                #"{"kind": "message", "arguments": {"text": "a"}}"#, bearer: viewer)
            #expect(refused.status == .forbidden)
        }
    }

    @Test func `Messages have room of their own, and a wipe ends those that wait`() async throws {
        try await play { scene in
            let message = #"{"kind": "message", "arguments": {"text": "a"}}"#
            for _ in 0..<8 { #expect(try await scene.issue(message).status == .created) }
            let refused = try await scene.issue(message)
            #expect(try refused.status == .conflict && refused.problem.code == "too-many-commands")
            #expect(try await scene.issue(#"{"kind": "send-beacon"}"#).status == .created)
            let wipe = try await scene.issue(#"{"kind": "wipe"}"#, bearer: scene.harness.administrator)
            #expect(try await scene.given().map { CommandID($0.id)?.description } == [wipe.json.text("id")])
        }
    }

    @Test(arguments: ["wipe", "enterprise-wipe"])
    func `A wipe and a cancellation have room beside other commands`(_ kind: String) async throws {
        try await play { scene in
            var waiting: [String] = []
            for _ in 0..<32 {
                waiting.append(try #require(try await scene.issue(#"{"kind": "send-beacon"}"#).json.text("id")))
            }
            #expect(try await scene.issue(#"{"kind": "send-beacon"}"#).status == .conflict)
            let cancel = try await scene.issue(#"{"kind": "cancel", "arguments": {"command": "\#(waiting[0])"}}"#)
            #expect(cancel.status == .created)
            let wipe = try await scene.issue(#"{"kind": "\#(kind)"}"#, bearer: scene.harness.administrator)
            #expect(wipe.status == .created)
            let given = try await scene.given().map { CommandID($0.id)?.description }
            #expect(try given == [cancel.json.text("id"), wipe.json.text("id")])
            #expect(try await scene.state(waiting[1]) == "expired", "the wipe makes it pointless")
            #expect(try await scene.issue(#"{"kind": "send-beacon"}"#).status == .created)
        }
    }

    @Test func `A waiting command is ended at the collector by whoever may request it`() async throws {
        try await play { scene in
            func end(_ id: String, bearer: String? = nil) async throws -> TestResponse {
                try await scene.client.send(.delete, "\(scene.path)/\(id)", bearer: bearer ?? scene.person)
            }
            let beacon = try #require(try await scene.issue(#"{"kind": "send-beacon"}"#).json.text("id"))
            let command = try #require(try await scene.given().first)
            let ended = try await end(beacon)
            #expect(try ended.status == .ok && ended.json.text("state") == "expired")
            #expect(try ended.json.text("detail")?.hasPrefix("It was ended at the collector by") == true)
            #expect(try await scene.given().isEmpty)
            #expect(try await end(beacon).status == .ok, "again changes nothing")
            _ = try await scene.report([(command, .done, "sent")])
            #expect(try await scene.state(beacon) == "done", "the device had it already")
            #expect(try await end(beacon).json.text("state") == "done")

            let wipe = try await scene.issue(#"{"kind": "wipe"}"#, bearer: scene.harness.administrator)
            let id = try #require(try wipe.json.text("id"))
            #expect(try await end(id).status == .forbidden)
            #expect(try await end("\(CommandID.random())").status == .notFound)
            #expect(try await scene.given().count == 1)
            #expect(try await end(id, bearer: scene.harness.administrator).status == .ok)
            #expect(try await scene.given().isEmpty)
            let trail = try await scene.harness.metadata.audit(AuditQuery(action: .commandEnd), below: nil, limit: 10)
            #expect(trail.rows.map(\.entry.detail["kind"]) == ["wipe", "send-beacon"])
        }
    }

    @Test func `A device has a bounded number of open commands`() async throws {
        try await play { scene in
            for _ in 0..<32 {
                #expect(try await scene.issue(#"{"kind": "send-beacon", "expiresInSeconds": 60}"#).status == .created)
            }
            let refused = try await scene.issue(#"{"kind": "send-beacon"}"#)
            #expect(try refused.status == .conflict && refused.problem.limit == 32)
            scene.harness.clock.advance(seconds: 61)
            #expect(try await scene.issue(#"{"kind": "send-beacon"}"#).status == .created)
        }
    }
}
