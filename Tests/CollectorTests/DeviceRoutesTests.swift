import Collector
import CollectorAPI
import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import Registry
import Testing
import WireModel

@Suite("Devices over HTTP")
struct DeviceRoutesTests {
    private static func enroll(
        _ harness: MetadataHarness, _ name: String, _ change: (inout WireEnrollRequest) -> Void = { _ in }
    ) async throws -> EnrollResult {
        var request = WireEnrollRequest()
        request.deviceName = name
        change(&request)
        return try await harness.metadata.enroll(token: harness.enrollmentToken, request: request)
    }

    @Test func `The list is filtered, searched, sorted and counted`() async throws {
        let harness = try MetadataHarness()
        try await harness.route { client in
            for number in 0..<25 {
                let device = try await Self.enroll(harness, "Kiosk \(number % 5)") { request in
                    request.application = number.isMultiple(of: 2) ? "com.example.shop" : ""
                    request.operatingSystem.distribution = "debian"
                    request.operatingSystem.version = "\(11 + number % 2)"
                    request.test = number == 24
                }
                guard number.isMultiple(of: 3) else { continue }
                var status = ChainBuilder(stream: .status)
                var beacon = WireBeacon()
                beacon.userFullName = "Ann Lee"
                beacon.deviceCompliance = number == 3 ? .nonCompliant : .compliant
                beacon.nextBeaconSeconds = 60
                harness.clock.advance(seconds: 1)
                let sent = try await client.post(
                    WireNames.batchesPath, bearer: device.credential,
                    [status.part(kind: .beacon, bodies: [beacon.encoded])].request)
                #expect(sent.status == .ok)
            }
            func list(_ query: String) async throws -> JSONObject {
                try await client.json("/api/v1/devices?" + query, bearer: harness.administrator)
            }
            for (query, total) in [
                ("", 24), ("test=true", 25), ("application=com.example.shop", 12), ("q=ann%20kiosk", 8),
                ("q=nobody", 0),
                ("os=Debian%2012", 12),
                ("state=reporting", 8), ("state=enrolled,reporting", 24), ("state=revoked", 0),
                ("compliance=non-compliant", 1),
                ("compliance=unknown", 16), ("compromised=yes", 0), ("organization=default", 24),
                ("agentVersion=9", 0),
            ] {
                let page = try await list(query)
                #expect(page.number("total") == total, "\(query)")
                #expect(page.objects("items").count == total, "\(query)")
            }
            try await client.send(.get, "/api/v1/devices?organization=none", bearer: harness.administrator).expect(
                404, "not-found")
            for sort in ["name", "-name", "lastSeen", "-lastSeen", "enrolled", "state", "-state", "id", "-id"] {
                let whole = try await list("sort=\(sort)").objects("items").map { $0.text("id") }
                var (pages, cursor): ([String?], String?) = ([], nil)
                repeat {
                    let page = try await list("sort=\(sort)&limit=7" + (cursor.map { "&cursor=\($0)" } ?? ""))
                    #expect(page.number("total") == 24)
                    pages += page.objects("items").map { $0.text("id") }
                    cursor = page.text("next")
                } while cursor != nil
                #expect(pages == whole && Set(pages).count == 24, "\(sort)")
            }
            let names = try await list("sort=-name").objects("items").map { $0.text("name") ?? "" }
            #expect(names == names.sorted(by: >))
            for query in [
                "sort=size", "state=asleep", "compliance=maybe", "q=\(String(repeating: "x", count: 257))", "cursor=x",
            ] {
                #expect(
                    try await client.send(.get, "/api/v1/devices?\(query)", bearer: harness.administrator).status
                        == .badRequest, "\(query)"
                )
            }
            let next = try #require(try await list("sort=name&limit=1").text("next"))
            #expect(
                try await client.send(.get, "/api/v1/devices?sort=-name&cursor=\(next)", bearer: harness.administrator)
                    .status
                    == .badRequest,
                "a cursor of another order")
        }
    }

    @Test func `Devices are listed by the token with which they last enrolled`() async throws {
        let harness = try MetadataHarness()
        try await harness.route { client in
            let (first, second) = (
                try await harness.metadata.createEnrollmentToken(organization: "default"),
                try await harness.metadata.createEnrollmentToken(organization: "default")
            )
            func list(_ token: String) async throws -> [String?] {
                try await client.json("/api/v1/devices?enrollmentToken=\(token)", bearer: harness.administrator)
                    .objects("items").map { $0.text("name") }
            }
            #expect(try await list(first.id).isEmpty, "the list is made before the first device")
            var request = WireEnrollRequest()
            request.deviceName = "Kiosk"
            let device = try await harness.metadata.enroll(token: first.token, request: request)
            request.deviceName = "Other"
            _ = try await harness.metadata.enroll(token: harness.enrollmentToken, request: request)
            #expect(try await list(first.id) == ["Kiosk"])
            #expect(try await list(second.id).isEmpty)
            #expect(try await list("nothing").isEmpty)
            // It enrolls again.
            request.deviceName = "Kiosk"
            request.deviceID = device.deviceID.data
            request.previousCredential = device.credential
            _ = try await harness.metadata.enroll(token: second.token, request: request)
            #expect(try await list(first.id).isEmpty)
            #expect(try await list(second.id) == ["Kiosk"])
        }
    }

    @Test func `Facets count what the list would have`() async throws {
        let harness = try MetadataHarness()
        try await harness.route { client in
            for number in 0..<12 {
                let device = try await Self.enroll(harness, "Kiosk \(number)") { request in
                    request.application = number.isMultiple(of: 2) ? "com.example.shop" : ""
                    request.operatingSystem.distribution = "debian"
                    request.operatingSystem.version = "\(11 + number % 3)"
                    request.test = number == 11
                }
                guard number < 4 else { continue }
                var status = ChainBuilder(stream: .status)
                var beacon = WireBeacon()
                beacon.applicationVersion = "2.\(number % 2)"
                beacon.deviceCompliance = number == 3 ? .nonCompliant : .compliant
                beacon.compromised = .no
                beacon.operatingSystem.distribution = "Debian"
                beacon.operatingSystem.version = "13"
                var batch = try WireBatchRequest.decode([status.part(kind: .beacon, bodies: [beacon.encoded])].request)
                batch.profileRevision = 1
                let sent = try await client.post(WireNames.batchesPath, bearer: device.credential, batch.encoded)
                #expect(sent.status == .ok)
            }
            func list(_ query: String) async throws -> Int? {
                try await client.json("/api/v1/devices?limit=1&" + query, bearer: harness.administrator).number("total")
            }
            for query in [
                "", "test=true", "application=com.example.shop", "application=none", "applicationVersion=2.1",
                "applicationVersion=none",
                "profileRevision=1", "profileRevision=none&os=debian%2013", "compliance=compliant&compromised=no",
                "q=none",
            ] {
                let answer = try await client.json("/api/v1/devices/facets?" + query, bearer: harness.administrator)
                #expect(answer.number("total") == (try await list(query)), "\(query)")
                for (facet, values) in answer.object("facets")?.fields ?? [:] {
                    let counts = JSONObject(fields: values as? [String: Any] ?? [:]).objects("values")
                    #expect(!counts.isEmpty || query == "q=none", "\(facet) of \(query)")
                    let others = query.split(separator: "&").filter { !$0.hasPrefix(facet + "=") }
                    for count in counts {
                        let chosen = (count.text("value") ?? "none").replacing(" ", with: "%20")
                        let filtered = (others + ["\(facet)=\(chosen)"]).joined(separator: "&")
                        #expect(count.number("devices") == (try await list(filtered)), "\(filtered)")
                    }
                }
            }
            for query in ["sort=name", "limit=1", "profileRevision=newest", "state=asleep", "application="] {
                #expect(
                    try await client.send(.get, "/api/v1/devices/facets?\(query)", bearer: harness.administrator).status
                        == .badRequest, "\(query)")
            }
            let viewer = try await harness.person(.viewer)
            #expect(try await client.json("/api/v1/devices/facets", bearer: viewer).number("total") == 11)
            try await client.send(.get, "/api/v1/devices/facets?organization=other", bearer: viewer).expect(
                404, "not-found")
        }
    }

    @Test func `A revoked device is refused and shown as revoked`() async throws {
        let harness = try MetadataHarness()
        try await harness.route { client in
            let device = try await harness.device()
            let path = "/api/v1/devices/\(device.deviceID)"
            var events = ChainBuilder(stream: .event)
            #expect(
                try await client.post(WireNames.batchesPath, bearer: device.credential, [events.events(["a"])].request)
                    .status == .ok)
            for _ in 0..<2 {
                let revoked = try await client.send(.post, path + "/revoke", bearer: harness.administrator)
                #expect(try revoked.status == .ok && revoked.json.text("state") == "revoked")
            }
            let refused = try await client.post(
                WireNames.batchesPath, bearer: device.credential, [events.events(["b"])].request)
            try refused.expect(403, "revoked")
            let shown = try await client.json("/api/v1/events?device=\(device.deviceID)", bearer: harness.administrator)
                .objects("items")
            #expect(shown.count == 1, "what it has sent stays")
        }
    }

    @Test func `Revoking a device shows its token and can close it`() async throws {
        try await UploadScene.play { scene in
            let (harness, client) = (scene.harness, scene.client)
            let path = "/api/v1/devices/\(scene.device.deviceID)"
            let id = try #require(try await client.json(path, bearer: harness.administrator).text("enrollmentToken"))
            let revoked = try await client.send(.post, path + "/revoke", bearer: harness.administrator).json
            #expect(revoked.text("state") == "revoked" && revoked.object("token")?.text("id") == id)
            #expect(revoked.object("token")?.text("state") == "good" && revoked.object("token")?.text("token") == nil)
            _ = try await harness.device()
            let unknown = try await client.post(
                path + "/revoke", bearer: harness.administrator, json: #"{"closeToken": true}"#)
            #expect(unknown.status.code == 422)
            let closed = try await client.post(
                path + "/revoke", bearer: harness.administrator, json: #"{"closeEnrollmentToken": true}"#)
            #expect(try closed.json.object("token")?.text("state") == "revoked")
            await #expect(throws: EnrollError.tokenRevoked) { _ = try await harness.device() }
        }
    }

    @Test func `A device is deleted once that is confirmed`() async throws {
        try await UploadScene.play { scene in
            let (harness, client) = (scene.harness, scene.client)
            let path = "/api/v1/devices/\(scene.device.deviceID)"
            var book = LogBook()
            try book.add(segment: 1, positions: 1...20, from: Harness.now)
            try await scene.upload(book)
            var events = ChainBuilder(stream: .event)
            _ = try await client.post(
                WireNames.batchesPath, bearer: scene.device.credential, [events.events(["a"])].request)
            let asked = try await client.send(.delete, path, bearer: harness.administrator).json
            #expect(asked.flag("deleted") == false && asked.text("name") == "kiosk" && asked.number("logChunks") == 1)
            #expect(try await client.send(.get, path, bearer: harness.administrator).status == .ok)
            try await client.send(.delete, path + "?confirm=no", bearer: harness.administrator).expect(
                409, "confirmation-outdated")
            let confirm = try #require(asked.text("confirm"))
            let done = try await client.send(.delete, path + "?confirm=\(confirm)", bearer: harness.administrator).json
            #expect(done.flag("deleted") == true && done.text("confirm") == nil)
            for gone in [
                path, path + "/beacons", path + "/balance", path + "/commands",
                "/api/v1/events?device=\(scene.device.deviceID)",
            ] {
                try await client.send(.get, gone, bearer: harness.administrator).expect(404, "not-found")
            }
            #expect(try await client.json("/api/v1/events", bearer: harness.administrator).objects("items").isEmpty)
            #expect(try await client.json("/api/v1/devices", bearer: harness.administrator).number("total") == 0)
            let refused = try await client.post(
                WireNames.batchesPath, bearer: scene.device.credential, [events.events(["b"])].request)
            try refused.expect(403, "revoked")
            let logs = try await client.json(
                "/api/v1/logs?device=\(scene.device.deviceID)", bearer: harness.administrator)
            #expect(logs.objects("items").count == 1, "logs stay until they are erased")
            try await client.send(.delete, path + "?confirm=\(confirm)", bearer: harness.administrator).expect(
                404, "not-found")
        }
    }

    @Test func `A predecessor's logs are shown with the device's own`() async throws {
        try await UploadScene.play { scene in
            let (harness, client) = (scene.harness, scene.client)
            var book = LogBook()
            try book.add(segment: 1, positions: 1...20, from: Harness.now)
            try await scene.upload(book)
            let successor = try await harness.device()
            let old = "/api/v1/devices/\(scene.device.deviceID)"
            let new = "/api/v1/devices/\(successor.deviceID)"
            let possible = try await client.json(old, bearer: harness.administrator)["possibleSuccessors"] as? [String]
            #expect(possible == ["\(successor.deviceID)"])
            func former() async throws -> [String]? {
                try await client.json(new, bearer: harness.administrator)["possiblePredecessors"] as? [String]
            }
            #expect(try await former() == ["\(scene.device.deviceID)"], "its logs are offered")
            func logs() async throws -> Int {
                try await client.json("/api/v1/logs?device=\(successor.deviceID)", bearer: scene.person).objects(
                    "items"
                ).count
            }
            #expect(try await logs() == 0, "it inherits nothing by itself")
            let said = try await client.post(
                new + "/predecessor", bearer: harness.administrator, json: #"{"device": "\#(scene.device.deviceID)"}"#)
            #expect(try said.status == .ok && said.json.text("predecessor") == "\(scene.device.deviceID)")
            let successors = try await client.json(old, bearer: harness.administrator)["successors"] as? [String]
            #expect(successors == ["\(successor.deviceID)"])
            #expect(try await former() == [])
            #expect(try await logs() == 1)
            let content = try await client.send(
                .get, "/api/v1/logs/content?device=\(successor.deviceID)", bearer: scene.person)
            #expect(String(buffer: content.body).split(separator: "\n").count == 20)
            for (path, body) in [
                (old, #"{"device": "\#(successor.deviceID)"}"#), (new, #"{"device": "\#(successor.deviceID)"}"#),
                (new, "{}"),
                (new, #"{"device": "x"}"#), (new, #"{"device": "\#(DeviceID.random())"}"#),
            ] {
                try await client.post(path + "/predecessor", bearer: harness.administrator, json: body).expect(
                    422, "invalid-field")
            }
            _ = try await client.post(new + "/predecessor", bearer: harness.administrator, json: #"{"device": null}"#)
            #expect(try await logs() == 0)
        }
    }
}
