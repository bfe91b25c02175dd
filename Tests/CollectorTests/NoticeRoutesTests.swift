import CollectorAPI
import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import Registry
import TelemetryBasics
import Testing
import WireModel

@Suite("Notices over HTTP")
struct NoticeRoutesTests {
    private static func post(
        _ scene: UploadScene, _ path: String, _ json: String? = nil, as bearer: String? = nil
    ) async throws -> TestResponse {
        try await scene.client.send(
            .post, "/api/v1/notices/\(path)", bearer: bearer ?? scene.person,
            headers: json == nil ? [:] : [.contentType: WireNames.json], body: json.map { Data($0.utf8) })
    }

    private static func list(_ scene: UploadScene, _ query: String = "") async throws -> JSONObject {
        try await scene.client.json("/api/v1/notices?\(query)", bearer: scene.person)
    }

    @Test func `A notice says what to do and counts while it lasts`() async throws {
        try await UploadScene.play { scene in
            let service = NoticeService(metadata: scene.harness.metadata)
            await service.raise(.deviceSilent, organization: "default", subject: "d", detail: "x")
            await service.raise(.uploadExpired, organization: "default", subject: "u", detail: "")
            await service.raise(.diskLow, subject: "the collector's own", detail: "")
            let all = try await Self.list(scene)
            #expect(
                all.number("openCount") == 1 && all.objects("items").compactMap { $0.text("subject") } == ["u", "d"])
            #expect(all.fields.keys.contains("next") && all.text("next") == nil)
            let notice = try #require(all.objects("items").last)
            #expect(notice.text("runbook") == "a-silent-device" && notice.text("remedy")?.contains("network") == true)
            #expect(notice.object("muted") == nil)
            #expect(try await Self.list(scene, "open=true").objects("items").compactMap { $0.text("subject") } == ["d"])
            #expect(
                try await Self.list(scene, "code=upload-expired").objects("items").compactMap { $0.text("subject") }
                    == ["u"])
            let everything = try await scene.client.json("/api/v1/notices", bearer: scene.harness.administrator)
            #expect(everything.number("openCount") == 2)
            for query in ["open=1", "code=x", "muted=true"] {
                try await scene.client.send(.get, "/api/v1/notices?\(query)", bearer: scene.person).expect(
                    400, "invalid-parameter")
            }
        }
    }

    @Test func `Whoever may do so mutes for a time or for good`() async throws {
        try await UploadScene.play { scene in
            let service = NoticeService(metadata: scene.harness.metadata)
            await service.raise(.deviceSilent, organization: "default", subject: "d", detail: "")
            let id = try #require(try await Self.list(scene).objects("items").first?.text("id"))
            let until = Timestamp.text(scene.harness.clock.now() + 86_400_000_000)
            let muted = try await Self.post(scene, "\(id)/mute", #"{"until": "\#(until)"}"#)
            let mute = try #require(try muted.json.object("muted"))
            #expect(mute.text("by") == "operator" && mute.text("until") == until && mute.text("at") != nil)
            #expect(try await Self.list(scene).number("openCount") == 0)
            #expect(try await Self.list(scene, "open=true").objects("items").first?.object("muted") != nil)
            // For good, without a body or with an empty one.
            for body in [nil, "{}", #"{"until": null}"#] {
                let again = try await Self.post(scene, "\(id)/mute", body).json
                #expect(again.object("muted")?.text("until") == nil && again.object("muted")?.text("by") == "operator")
            }
            #expect(try await Self.post(scene, "\(id)/unmute").json.object("muted") == nil)
            #expect(try await Self.list(scene).number("openCount") == 1)
            let trail = try await scene.client.json(
                "/api/v1/audit?action=notice-mute", bearer: scene.harness.administrator)
            #expect(trail.objects("items").count == 4)
        }
    }

    @Test func `What cannot be is refused`() async throws {
        try await UploadScene.play { scene in
            let service = NoticeService(metadata: scene.harness.metadata)
            await service.raise(.deviceSilent, organization: "default", subject: "d", detail: "")
            await service.raise(.diskLow, subject: "the collector's own", detail: "")
            let ids = try await service.page(organization: nil, below: nil, limit: 2).rows.map(\.id)
            let now = scene.harness.clock.now()
            for until in [now, now - 1, now + 367 * 86_400_000_000] {
                try await Self.post(scene, "\(ids[1])/mute", #"{"until": "\#(Timestamp.text(until))"}"#).expect(
                    422, "invalid-field")
            }
            for body in [#"{"until": "tomorrow"}"#, #"{"until": 5}"#, #"{"for": "1d"}"#] {
                try await Self.post(scene, "\(ids[1])/mute", body).expect(422, "invalid-field")
            }
            try await Self.post(scene, "\(ids[1])/mute?x=1").expect(400, "invalid-parameter")
            // One that is not there, no id, one of the collector, one of another organization.
            try await scene.harness.metadata.createOrganization("west")
            let stranger = try await scene.harness.person(.administrator, "west")
            for action in ["mute", "unmute"] {
                for id in ["999", "x", "0", "\(ids[0])"] {
                    try await Self.post(scene, "\(id)/\(action)").expect(404, "not-found")
                }
                try await Self.post(scene, "\(ids[1])/\(action)", as: stranger).expect(404, "not-found")
                let viewer = try await scene.harness.person(.viewer)
                try await Self.post(scene, "\(ids[1])/\(action)", as: viewer).expect(403, "forbidden")
            }
            #expect(try await Self.list(scene).number("openCount") == 1)
            let collectors = try await Self.post(scene, "\(ids[0])/mute", as: scene.harness.administrator)
            #expect(try collectors.json.object("muted") != nil)
        }
    }
}
