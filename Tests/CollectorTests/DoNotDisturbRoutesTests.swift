import Collector
import CollectorAPI
import Foundation
import HTTPTypes
import HummingbirdTesting
import LogArchive
import Registry
import Testing
import WireModel

@Suite("Do-not-disturb over HTTP")
struct DoNotDisturbRoutesTests {
    /// One device, an operator, and a profile.
    private struct Scene: Sendable {
        let harness: MetadataHarness
        let client: any TestClientProtocol
        let device: EnrollResult
        let person: String
        var path: String { "/api/v1/devices/\(device.deviceID)/do-not-disturb" }

        func allow(_ isAllowed: Bool) async throws {
            var profile = WireProfile()
            profile.doNotDisturbAllowed = isAllowed
            _ = try await harness.metadata.putProfile(
                profile, ProfileScope(organization: "default"), expected: nil, by: .commandLine)
        }

        func set(_ isOn: Bool, by person: String? = nil) async throws -> TestResponse {
            try await client.send(
                .put, path, bearer: person ?? self.person, headers: [.contentType: WireNames.json],
                body: Data(#"{"on": \#(isOn)}"#.utf8))
        }

        func decide(_ isOn: Bool, request: UInt8) async throws -> TestResponse {
            var message = WireSetDoNotDisturb()
            message.on = isOn
            message.requestID = Data(repeating: request, count: 16)
            return try await client.send(
                .put, WireNames.doNotDisturbPath, bearer: device.credential,
                headers: [.contentType: WireNames.protobuf], body: message.encoded)
        }

        /// The decision that the device gets with the answer to a request for commands, and when it asks.
        func reported() async throws -> WireDoNotDisturb {
            let news = try await client.send(.get, WireNames.commandsPath, bearer: device.credential)
            let reported = try await client.send(.get, WireNames.doNotDisturbPath, bearer: device.credential)
            let said = try news.message(WireCommandsAnswer.self).doNotDisturb
            #expect(try said == reported.message(WireDoNotDisturb.self))
            return said
        }

        func shown() async throws -> JSONObject { try await client.json(path, bearer: person) }
    }

    private func play(_ body: @escaping @Sendable (Scene) async throws -> Void) async throws {
        let harness = try MetadataHarness()
        try await harness.route { client in
            let scene = Scene(
                harness: harness, client: client, device: try await harness.device(),
                person: try await harness.person(.operator))
            try await scene.allow(true)
            try await body(scene)
        }
    }

    @Test func `Nobody has decided at first`() async throws {
        try await play { scene in
            let news = try await scene.client.send(.get, WireNames.commandsPath, bearer: scene.device.credential)
            #expect(try news.message(WireCommandsAnswer.self).hasDoNotDisturb, "it says that it knows do-not-disturb")
            #expect(try await scene.reported() == WireDoNotDisturb())
            let shown = try await scene.shown()
            #expect(shown.flag("on") == false && shown.flag("allowed") == true && shown["setBy"] == nil)
            #expect(shown["reported"] == nil && shown["setAt"] == nil)
        }
    }

    @Test func `A person's decision is audited and sent to the device`() async throws {
        try await play { scene in
            #expect(try await scene.set(true).status == .ok)
            let reported = try await scene.reported()
            #expect(
                reported.on && reported.revision == 1 && reported.person == "operator" && reported.setAt == Harness.now)
            var chain = ChainBuilder(stream: .event)
            let answer = try await scene.client.post(
                WireNames.batchesPath, bearer: scene.device.credential, [chain.events(["a"])].request)
            #expect(try answer.message(WireBatchAnswer.self).doNotDisturb == reported)
            let shown = try await scene.shown()
            #expect(shown.flag("on") == true && shown.text("setBy") == "person")
            #expect(shown.text("person") == "operator" && shown.text("setAt") != nil)
            // The same again is no new decision.
            #expect(try await scene.set(true).json.number("revision") == 1)
            let trail = try await scene.harness.metadata.audit(
                AuditQuery(action: .deviceDoNotDisturb), below: nil, limit: 10)
            #expect(trail.rows.map(\.entry.subject) == ["\(scene.device.deviceID)"])
            let entry = try #require(trail.rows.first?.entry)
            #expect(entry.detail == ["on": "true"] && entry.actor.name == "operator")
            let viewer = try await scene.harness.person(.viewer)
            #expect(try await scene.set(false, by: viewer).status == .forbidden)
            #expect(try await scene.client.send(.get, scene.path, bearer: viewer).status == .ok)
        }
    }

    @Test func `The newest decision holds, and a repeat is none`() async throws {
        try await play { scene in
            #expect(try await scene.decide(true, request: 1).message(WireDoNotDisturb.self).revision == 1)
            scene.harness.clock.advance(seconds: 5)
            #expect(try await scene.set(false).json.number("revision") == 2)
            let repeated = try await scene.decide(true, request: 1).message(WireDoNotDisturb.self)
            #expect(!repeated.on && repeated.revision == 2 && repeated.person == "operator")
            // The collector's clock plays no part.
            scene.harness.clock.advance(seconds: -60)
            #expect(try await scene.decide(true, request: 2).message(WireDoNotDisturb.self).revision == 3)
            let shown = try await scene.shown()
            #expect(shown.flag("on") == true && shown.text("setBy") == "device" && shown["person"] == nil)
            #expect(try await scene.reported().on)
        }
    }

    @Test func `Only what the profile allows is switched on`() async throws {
        try await play { scene in
            #expect(try await scene.set(true).status == .ok)
            try await scene.allow(false)
            let shown = try await scene.shown()
            #expect(shown.flag("on") == true && shown.flag("allowed") == false)
            #expect(try await scene.set(false).status == .ok, "ending it is always allowed")
            let refused = try await scene.set(true)
            #expect(try refused.status == .conflict && refused.problem.code == "do-not-disturb-not-allowed")
            #expect(try await scene.decide(true, request: 1).problem.code == "do-not-disturb-not-allowed")
            #expect(try await scene.decide(false, request: 2).status == .ok)
        }
    }

    @Test func `The decision is kept over a restart of the collector and a new enrollment`() async throws {
        let harness = try MetadataHarness()
        let device = try await harness.device()
        var profile = WireProfile()
        profile.doNotDisturbAllowed = true
        _ = try await harness.metadata.putProfile(
            profile, ProfileScope(organization: "default"), expected: nil, by: .commandLine)
        _ = try await harness.metadata.setDoNotDisturb(
            true, device: device.deviceID, organization: nil, by: .device(request: Data(repeating: 1, count: 16)))
        _ = try await harness.device(previous: device)
        harness.archive.shutDown()
        await harness.metadata.close()
        let second = try MetadataHarness(in: harness.directory)
        try await second.route { _ in
            let kept = try #require(try await second.metadata.device(device.deviceID, organization: nil))
            #expect(kept.doNotDisturb.isOn && kept.doNotDisturb.revision == 1 && kept.doNotDisturb.person == nil)
            let repeated = try await second.metadata.setDoNotDisturb(
                false, device: device.deviceID, organization: nil, by: .device(request: Data(repeating: 1, count: 16)))
            #expect(repeated == kept.doNotDisturb, "the repeat of a request is known after the restart too")
        }
    }

    @Test func `The last compliance is still shown`() async throws {
        try await play { scene in
            var beacon = WireBeacon()
            beacon.deviceCompliance = .nonCompliant
            var quiet = WireBeacon()
            quiet.doNotDisturb = .yes
            var chain = ChainBuilder(stream: .status)
            for sent in [beacon, quiet] {
                let part = chain.part(kind: .beacon, bodies: [sent.encoded])
                _ = try await scene.client.post(WireNames.batchesPath, bearer: scene.device.credential, [part].request)
            }
            let device = try await scene.client.json("/api/v1/devices/\(scene.device.deviceID)", bearer: scene.person)
            #expect(device.object("verdicts")?.text("deviceCompliance") == "non-compliant")
            #expect(try await scene.shown().flag("reported") == true)
        }
    }

    @Test func `A device that has left and a malformed request are refused`() async throws {
        try await play { scene in
            let empty = try await scene.client.send(
                .put, scene.path, bearer: scene.person, headers: [.contentType: WireNames.json], body: Data("{}".utf8))
            #expect(empty.status == .unprocessableContent)
            try await scene.harness.metadata.unenroll(device: scene.device.deviceID)
            let refused = try await scene.set(false)
            #expect(try refused.status == .conflict && refused.problem.code == "device-left")
        }
    }
}
