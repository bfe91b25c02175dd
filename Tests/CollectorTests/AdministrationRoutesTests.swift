import Collector
import CollectorAPI
import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import Registry
import Testing
import WireModel

@Suite("Tokens, organizations and audit over HTTP")
struct AdministrationRoutesTests {
    private static let tokens = "/api/v1/tokens"

    private static func play(
        _ body: @escaping @Sendable (MetadataHarness, any TestClientProtocol) async throws -> Void
    ) async throws {
        let harness = try MetadataHarness()
        try await harness.route { client in try await body(harness, client) }
    }

    @Test func `A token is made, used, listed and revoked`() async throws {
        try await Self.play { harness, client in
            let made = try await client.post(
                Self.tokens, bearer: harness.administrator,
                json:
                    #"""
                    {"kind": "person", "name": "ann", "role": "viewer", "organization": "default", \#
                    "expiresInSeconds": 60}
                    """#
            )
            #expect(made.status == .created)
            let token = try made.json
            let (id, secret) = (try #require(token.text("id")), try #require(token.text("token")))
            #expect(made.headers[.location] == "\(Self.tokens)/\(id)" && secret.hasPrefix("ws1p_"))
            #expect(token.text("expiresAt") == "2025-06-15T15:07:40.000000Z" && token.text("state") == "good")
            #expect(try await client.send(.get, "/api/v1/devices", bearer: secret).status == .ok)
            let listed = try await client.json(Self.tokens + "?kind=person", bearer: harness.administrator).objects(
                "items")
            #expect(listed.count == 2 && listed.allSatisfy { $0["token"] == nil })
            for _ in 0..<2 {
                #expect(
                    try await client.send(.delete, "\(Self.tokens)/\(id)", bearer: harness.administrator).status
                        == .noContent)
            }
            #expect(try await client.send(.get, "/api/v1/devices", bearer: secret).status == .unauthorized)
            let trail = try await client.json("/api/v1/audit", bearer: harness.administrator).objects("items")
            #expect(trail.map { $0.text("action") } == ["token-revoke", "token-create"], "once each")
            #expect(
                trail.allSatisfy {
                    $0.text("subject") == id && $0.text("actor") == "administrator"
                        && $0.text("role") == "administrator"
                })
        }
    }

    @Test func `A token expires`() async throws {
        try await Self.play { harness, client in
            let made = try await client.post(
                Self.tokens, bearer: harness.administrator,
                json: #"{"kind": "person", "name": "ann", "role": "viewer", "expiresAt": "2025-06-15T15:07:40Z"}"#)
            let secret = try #require(try made.json.text("token"))
            harness.clock.advance(seconds: 59)
            #expect(try await client.send(.get, "/api/v1/devices", bearer: secret).status == .ok)
            harness.clock.advance(seconds: 2)
            #expect(try await client.send(.get, "/api/v1/devices", bearer: secret).status == .unauthorized)
            let listed = try await client.json(Self.tokens, bearer: harness.administrator).objects("items")
            #expect(listed.contains { $0.text("name") == "ann" && $0.text("state") == "expired" })
        }
    }

    @Test func `An enrollment token is limited unless the request says otherwise`() async throws {
        try await Self.play { harness, client in
            func make(_ json: String) async throws -> TestResponse {
                try await client.post(Self.tokens, bearer: try await harness.person(.administrator), json: json)
            }
            #expect(try await make(#"{"kind": "enrollment"}"#).json.number("maximumUses") == 100)
            #expect(try await make(#"{"kind": "enrollment", "maximumUses": 5000}"#).json.number("maximumUses") == 5000)
            let unlimited = try await make(#"{"kind": "enrollment", "unlimited": true}"#)
            #expect(try unlimited.status == .created && unlimited.json["maximumUses"] == nil)
            for json in [
                #"{"kind": "enrollment", "unlimited": true, "maximumUses": 5}"#,
                #"{"kind": "person", "name": "ann", "role": "viewer", "unlimited": true}"#,
            ] { #expect(try await make(json).problem.field == "unlimited") }
        }
    }

    @Test func `An enrollment token is for as many devices as it says`() async throws {
        try await Self.play { harness, client in
            let made = try await client.post(
                Self.tokens, bearer: try await harness.person(.administrator),
                json: #"{"kind": "enrollment", "maximumUses": 1}"#)
            let token = try made.json
            #expect(token.text("organization") == "default", "the maker's own")
            #expect(token.text("expiresAt") == "2025-07-15T15:06:40.000000Z", "30 days")
            let secret = try #require(token.text("token"))
            #expect(
                try await client.post(WireNames.enrollPath, bearer: secret, WireEnrollRequest().encoded).status == .ok)
            let refused = try await client.post(WireNames.enrollPath, bearer: secret, WireEnrollRequest().encoded)
            try refused.expect(403, "token-used-up")
            let listed = try await client.json(Self.tokens + "?kind=enrollment", bearer: harness.administrator).objects(
                "items")
            let used = try #require(listed.first { $0.text("id") == token.text("id") })
            #expect(used.text("state") == "used-up" && used.number("uses") == 1)
        }
    }

    /// Keys and root of the collector, the address, and whether pins are wanted.
    struct Enrollment: Sendable {
        var (own, backup): (Data?, Data?)
        var root: Data?
        var address = "https://c.example:8420/t"
        var pinned: Bool?
        var pins: [Data] = []
        var authorities: [Data] = []
    }

    private static let (own, backup) = (Data(repeating: 1, count: 32), Data(repeating: 2, count: 32))
    private static let root = Data([0x30, 0])

    @Test(arguments: [
        Enrollment(own: own, backup: backup, pins: [own, backup]),
        Enrollment(own: own, backup: backup, pinned: true, pins: [own, backup]),
        // A proxy shows a key of its own.
        Enrollment(own: own, backup: backup, pinned: false), Enrollment(own: nil, backup: backup),
        // One pin alone would cut off all devices when its key is lost.
        Enrollment(own: own, backup: nil), Enrollment(own: own, backup: own),
        Enrollment(own: own, backup: backup, address: "http://127.0.0.1:8420"),
        // The certificate of a private authority, whose root its file holds.
        Enrollment(own: own, backup: backup, root: root, pins: [own, backup], authorities: [root]),
        Enrollment(own: own, backup: nil, root: root, authorities: [root]),
        Enrollment(own: own, backup: backup, root: root, pinned: false),
        Enrollment(own: own, backup: backup, root: root, address: "http://127.0.0.1:8420"),
    ]) func `An enrollment URL names the address, the token, the authority and both keys or none`(
        _ enrollment: Enrollment
    ) async throws {
        let harness = try MetadataHarness(
            ownPin: enrollment.own, backupPin: enrollment.backup, ownRoot: enrollment.root)
        try await harness.route { client in
            let pinned = enrollment.pinned.map { #", "pinned": \#($0)"# } ?? ""
            let made = try await client.post(
                Self.tokens, bearer: try await harness.person(.administrator),
                json: #"{"kind": "enrollment", "address": "\#(enrollment.address)"\#(pinned)}"#)
            let token = try made.json
            let file = try EnrollmentFile(url: try #require(token.text("enrollmentURL")))
            #expect(file.collector == enrollment.address)
            #expect(file.token == token.text("token"))
            #expect(file.expires == Harness.now + 30 * 86_400 * 1_000_000)
            #expect(file.certificatePins == enrollment.pins)
            #expect(token.number("enrollmentPins") == enrollment.pins.count)
            #expect(file.certificateAuthorities == enrollment.authorities)
            #expect(token.number("enrollmentAuthorities") == enrollment.authorities.count)
            #expect(
                try await client.post(WireNames.enrollPath, bearer: file.token, WireEnrollRequest().encoded).status
                    == .ok)
            let listed = String(
                buffer: try await client.send(.get, Self.tokens, bearer: harness.administrator).body)
            #expect(!listed.contains(file.token) && !listed.contains("enrollmentURL"))
        }
    }

    @Test func `An enrollment URL may name the broker that the collector serves, and no other`() async throws {
        let broker = EnrollmentBroker {
            $0.hasSuffix("/ws1") ? nil : "has another prefix."
        } authorities: {
            [Self.root]
        }
        let harness = try MetadataHarness(ownPin: Self.own, backupPin: Self.backup, broker: broker)
        try await harness.route { client in
            func make(_ address: String) async throws -> TestResponse {
                try await client.post(
                    Self.tokens, bearer: try await harness.person(.administrator),
                    json: #"{"kind": "enrollment", "address": "\#(address)"}"#)
            }
            let token = try await make("mqtts://broker.example/ws1").json
            let file = try EnrollmentFile(url: try #require(token.text("enrollmentURL")))
            #expect(file.collector == "mqtts://broker.example/ws1" && file.token == token.text("token"))
            // The keys of the collector are not those of the broker.
            #expect(file.certificatePins.isEmpty && file.certificateAuthorities == [Self.root])
            let other = try await make("mqtts://broker.example/other")
            #expect(other.status == .unprocessableContent)
            #expect(try other.problem.detail?.contains("`address` has another prefix.") == true)
        }
        let without = try MetadataHarness()
        try await without.route { client in
            let refused = try await client.post(
                Self.tokens, bearer: try await without.person(.administrator),
                json: #"{"kind": "enrollment", "address": "mqtts://broker.example/ws1"}"#)
            #expect(refused.status == .unprocessableContent)
            #expect(try refused.problem.detail?.contains("set `mqtt-broker`") == true)
        }
    }

    @Test(arguments: [
        (#"{}"#, "kind"), (#"{"kind": "robot"}"#, "kind"), (#"{"kind": "person", "role": "viewer"}"#, "name"),
        (#"{"kind": "person", "name": "a"}"#, "role"), (#"{"kind": "person", "name": "a", "role": "god"}"#, "role"),
        (#"{"kind": "person", "name": "a", "role": "viewer", "maximumUses": 1}"#, "maximumUses"),
        (#"{"kind": "enrollment"}"#, "organization"),
        (#"{"kind": "enrollment", "organization": "none"}"#, "organization"),
        (#"{"kind": "enrollment", "organization": "default", "role": "viewer"}"#, "role"),
        (#"{"kind": "enrollment", "organization": "default", "maximumUses": 0}"#, "maximumUses"),
        (#"{"kind": "person", "name": "a", "role": "viewer", "expiresInSeconds": 0}"#, "expiresInSeconds"),
        (#"{"kind": "person", "name": "a", "role": "viewer", "expiresAt": "2025-01-01"}"#, "expiresAt"),
        (
            #"{"kind": "person", "name": "a", "role": "viewer", "expiresAt": "2026-01-01", "expiresInSeconds": 5}"#,
            "expiresInSeconds"
        ),
        (#"{"kind": "person", "name": "a", "role": "viewer", "rights": "all"}"#, "rights"),
        (#"{"kind": "person", "name": "a", "role": "viewer", "address": "https://c.example"}"#, "address"),
        (#"{"kind": "enrollment", "organization": "default", "pinned": true}"#, "pinned"),
        (#"{"kind": "enrollment", "organization": "default", "address": ""}"#, "address"),
        (#"{"kind": "enrollment", "organization": "default", "address": "c.example"}"#, "address"),
        (#"{"kind": "enrollment", "organization": "default", "address": "ftp://c.example"}"#, "address"),
        (#"{"kind": "enrollment", "organization": "default", "address": "https://"}"#, "address"),
        (#"{"kind": "enrollment", "organization": "default", "address": "https://a:b@c.example"}"#, "address"),
        (#"{"kind": "enrollment", "organization": "default", "address": "https://c.example?a=b"}"#, "address"),
        (#"{"kind": "enrollment", "organization": "default", "address": "https://c.example#a"}"#, "address"),
        (#"{"kind": "enrollment", "organization": "default", "address": "https://c.example:0"}"#, "address"),
        (#"{"kind": "enrollment", "organization": "default", "address": "https://c.example/a b"}"#, "address"),
        (#"{"kind": "enrollment", "organization": "default", "address": "https://c.example/\"\n"}"#, "address"),
    ])
    func aTokenThatCannotBeIsRefusedByField(body: String, field: String) async throws {
        try await Self.play { harness, client in
            let refused = try await client.post(Self.tokens, bearer: harness.administrator, json: body)
            try refused.expect(422, "invalid-field")
            #expect(try refused.problem.field == field)
        }
    }

    @Test func `An organization's administrator stays within it`() async throws {
        try await Self.play { harness, client in
            let own = try await harness.person(.administrator)
            try await harness.metadata.createOrganization("west")
            for body in [
                #"{"kind": "person", "name": "a", "role": "viewer", "organization": "west"}"#,
                #"{"kind": "enrollment", "organization": "west"}"#,
                #"{"kind": "enrollment", "organization": "nowhere"}"#,
            ] { try await client.post(Self.tokens, bearer: own, json: body).expect(403, "forbidden") }
            let made = try await client.post(
                Self.tokens, bearer: own, json: #"{"kind": "person", "name": "a", "role": "administrator"}"#)
            #expect(try made.json.text("organization") == "default")
            try await client.post("/api/v1/organizations", bearer: own, json: #"{"name": "east"}"#).expect(
                403, "forbidden")
            #expect(
                try await client.json("/api/v1/organizations", bearer: own).objects("items").map { $0.text("name") }
                    == ["default"])
            try await client.send(.get, "/api/v1/organizations/west", bearer: own).expect(404, "not-found")
            let other = try await harness.metadata.createPersonToken(name: "w", role: .viewer, organization: "west").id
            try await client.send(.delete, "\(Self.tokens)/\(other)", bearer: own).expect(404, "not-found")
            let all = try await client.json(Self.tokens, bearer: harness.administrator).objects("items")
            let ofAll = try #require(
                all.first { $0.text("kind") == "person" && $0.text("organization") == nil }?.text("id"))
            try await client.send(.delete, "\(Self.tokens)/\(ofAll)", bearer: own).expect(404, "not-found")
        }
    }

    @Test func `The last administrator cannot lock everybody out`() async throws {
        try await Self.play { harness, client in
            let id = try #require(
                try await client.json(Self.tokens + "?kind=person", bearer: harness.administrator).objects("items")[0]
                    .text("id"))
            try await client.send(.delete, "\(Self.tokens)/\(id)", bearer: harness.administrator).expect(
                409, "last-administrator")
            let trail = try await client.json("/api/v1/audit", bearer: harness.administrator).objects("items")
            #expect(trail.first?.text("outcome") == "refused")
            let second = try await client.post(
                Self.tokens, bearer: harness.administrator,
                json: #"{"kind": "person", "name": "b", "role": "administrator"}"#)
            #expect(
                try await client.send(.delete, "\(Self.tokens)/\(id)", bearer: harness.administrator).status
                    == .noContent)
            let secret = try #require(try second.json.text("token"))
            #expect(try await client.send(.get, Self.tokens, bearer: secret).status == .ok)
        }
    }

    @Test func `Organizations are made and shown`() async throws {
        try await Self.play { harness, client in
            let path = "/api/v1/organizations"
            let made = try await client.post(path, bearer: harness.administrator, json: #"{"name": "west"}"#)
            #expect(made.status == .created && made.headers[.location] == path + "/west")
            #expect(try made.json.number("devices") == 0 && made.json.number("testDevices") == 0)
            #expect(try made.json.number("profileRevision") == 1)
            try await client.post(path, bearer: harness.administrator, json: #"{"name": "west"}"#).expect(
                409, "conflict")
            for body in [#"{"name": "a b"}"#, #"{"name": ""}"#, #"{}"#, #"{"name": "x", "y": 1}"#] {
                try await client.post(path, bearer: harness.administrator, json: body).expect(422, "invalid-field")
            }
            let first = try await client.json(path + "?limit=1", bearer: harness.administrator)
            let next = try #require(first.text("next"))
            let rest = try await client.json(path + "?limit=1&cursor=\(next)", bearer: harness.administrator)
            #expect(rest.objects("items").map { $0.text("name") } == ["west"] && rest.text("next") == nil)
            // Each device names its organization, so viewers see organizations too. They make none.
            let viewer = try await harness.person(.viewer, "west")
            #expect(
                try await client.json(path, bearer: viewer).objects("items").map { $0.text("name") } == ["west"])
            #expect(try await client.json(path + "/west", bearer: viewer).text("name") == "west")
            try await client.send(.get, path + "/default", bearer: viewer).expect(404, "not-found")
            try await client.post(path, bearer: viewer, json: #"{"name": "north"}"#).expect(403, "forbidden")
        }
    }

    @Test func `The trail has logs, profiles and commands with their circumstances`() async throws {
        try await UploadScene.play { scene in
            let administrator = try await scene.harness.person(.administrator)
            var book = LogBook()
            try book.add(segment: 1, positions: 1...20, from: Harness.now)
            try await scene.upload(book)
            let plan = try await scene.client.send(.delete, "/api/v1/logs", bearer: scene.person).json
            let confirm = try #require(plan.text("confirm"))
            #expect(
                try await scene.client.send(.delete, "/api/v1/logs?confirm=\(confirm)", bearer: scene.person).status
                    == .ok)
            _ = try await scene.client.send(
                .put, "/api/v1/profiles/default", bearer: administrator, headers: RouteScene.json, body: Data("{}".utf8)
            )
            _ = try await scene.client.post(
                "/api/v1/devices/\(scene.device.deviceID)/commands", bearer: scene.person,
                json: #"{"kind": "send-beacon"}"#)
            let trail = try await scene.client.json("/api/v1/audit", bearer: administrator).objects("items")
            #expect(trail.map { $0.text("actor") }.contains("device \(scene.device.deviceID)"))
            let shown = trail.filter { $0["role"] != nil }
            #expect(shown.map { $0.text("action") } == ["command-issue", "profile-put", "logs-delete"])
            #expect(shown.map { $0.text("actor") } == ["operator", "administrator", "operator"])
            #expect(
                shown[0].object("detail")?.text("kind") == "send-beacon"
                    && shown[0].text("subject") == "\(scene.device.deviceID)")
            #expect(shown[1].object("detail")?.text("revision") == "2")
            #expect(shown[2].object("detail")?.text("chunks") == "1" && shown[2].text("organization") == "default")
            let one = try await scene.client.json("/api/v1/audit?action=logs-delete&limit=1", bearer: administrator)
            #expect(one.objects("items").count == 1 && one.text("next") == nil)
            let ofDevice = try await scene.client.json(
                "/api/v1/audit?subject=\(scene.device.deviceID)", bearer: administrator
            ).objects("items")
            #expect(ofDevice.compactMap { $0.text("action") } == ["command-issue", "device-enroll"])
            try await scene.client.send(.get, "/api/v1/audit?action=nothing", bearer: administrator).expect(
                400, "invalid-parameter")
        }
    }
}

extension TestClientProtocol {
    func post(_ path: String, bearer: String, json: String) async throws -> TestResponse {
        try await send(.post, path, bearer: bearer, headers: RouteScene.json, body: Data(json.utf8))
    }

    func put(_ path: String, bearer: String, json: String) async throws -> TestResponse {
        try await send(.put, path, bearer: bearer, headers: RouteScene.json, body: Data(json.utf8))
    }
}
