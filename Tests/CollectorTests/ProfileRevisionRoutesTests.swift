import CollectorAPI
import Foundation
import HTTPTypes
import HummingbirdTesting
import JSON
import NIOCore
import Registry
import Testing
import WireModel

@testable import Collector

@Suite("Revisions of profiles over HTTP")
struct ProfileRevisionRoutesTests {
    private static let base = "/api/v1/profile-revisions/default"

    private static func put(
        _ client: any TestClientProtocol, _ bearer: String, _ json: String, application: String = ""
    ) async throws -> UInt64 {
        let path = "/api/v1/profiles/default" + (application.isEmpty ? "" : "/\(application)")
        let response = try await client.send(
            .put, path, bearer: bearer, headers: RouteScene.json, body: Data(json.utf8))
        #expect(response.status == .ok, "\(String(buffer: response.body))")
        return UInt64(try response.json.number("revision") ?? 0)
    }

    @Test func `A diff names every place that changed`() throws {
        func value(_ text: String) throws -> JSONValue { try JSONValue(parsing: Data(text.utf8), limits: .request) }
        let table: [(from: String, to: String, changes: [String])] = [
            ("{}", "{}", []), (#"{"a": 1}"#, #"{"a": 1}"#, []), (#"{"a": 1}"#, #"{"a": 2}"#, ["/a"]),
            ("{}", #"{"a": {"b": 1}}"#, ["/a"]),
            (#"{"a": {"b": 1, "c": 2}}"#, #"{"a": {"b": 1, "c": 3}, "d": 4}"#, ["/a/c", "/d"]),
            (#"{"a": [1, 2]}"#, #"{"a": [2, 1]}"#, ["/a"]),
            (#"{"a/b": 1, "c~d": 1}"#, "{}", ["/a~1b", "/c~0d"]),
        ]
        for row in table {
            #expect(ProfileDiff(from: try value(row.from), to: try value(row.to)).changes.map(\.path) == row.changes)
        }
    }

    @Test func `Revisions are compared, and an earlier one is put again`() async throws {
        let harness = try MetadataHarness()
        try await harness.route { client in
            let bearer = harness.administrator
            let first = try await Self.put(client, bearer, #"{"beaconSeconds": 60, "logging": {"level": "error"}}"#)
            let second = try await Self.put(
                client, bearer, #"{"beaconSeconds": 90, "logging": {"level": "error"}, "test": true}"#)
            let diff = try await client.json("\(Self.base)/diff", bearer: bearer)
            #expect(diff.number("from") == Int(first) && diff.number("to") == Int(second))
            #expect(diff.objects("changes").map { $0.text("path") } == ["/beaconSeconds", "/test"])
            #expect(diff.objects("changes")[0].number("from") == 60 && diff.objects("changes")[0].number("to") == 90)
            let back = try await client.json("\(Self.base)/diff?from=\(second)&to=\(first)", bearer: bearer)
            #expect(back.objects("changes").map { $0.number("to") } == [60, nil])
            let rolled = try await client.post(
                "\(Self.base)/rollback", bearer: bearer, json: #"{"revision": \#(first)}"#)
            #expect(rolled.status == .ok && rolled.headers[.eTag] == "\"\(second + 1)\"")
            #expect(try await client.json("\(Self.base)/diff?from=\(first)", bearer: bearer).objects("changes").isEmpty)
            let trail = try await client.json("/api/v1/audit?action=profile-rollback", bearer: bearer).objects("items")
            #expect(trail.first?.object("detail")?.text("restored") == "\(first)")
            try await client.post("\(Self.base)/rollback", bearer: bearer, json: #"{"revision": 99}"#).expect(
                404, "not-found")
            try await client.post("\(Self.base)/rollback", bearer: bearer, json: "{}").expect(422, "invalid-field")
            let outdated = try await client.send(
                .post, "\(Self.base)/rollback", bearer: bearer,
                headers: [.contentType: WireNames.json, .ifMatch: "\"\(first)\""],
                body: Data(#"{"revision": 1}"#.utf8))
            try outdated.expect(412, "precondition-failed")
            try await client.send(.get, "\(Self.base)/diff?from=99", bearer: bearer).expect(404, "not-found")
        }
    }

    @Test func `A profile is tried out without being put`() async throws {
        let harness = try MetadataHarness()
        try await harness.route { client in
            let bearer = harness.administrator
            let device = try await harness.device(application: "com.example.shop")
            _ = try await Self.put(client, bearer, #"{"beaconSeconds": 60, "customPayload": "whole"}"#)
            let newest = try await Self.put(
                client, bearer, #"{"customPayload": "shop"}"#, application: "com.example.shop")
            let asWhole = try await client.post(
                "\(Self.base)/validate?device=\(device.deviceID)", bearer: bearer,
                json: #"{"beaconSeconds": 70, "customPayload": "new"}"#)
            #expect(asWhole.status == .ok)
            #expect(try asWhole.json.object("effective")?.number("beaconSeconds") == 70)
            #expect(
                try asWhole.json.object("effective")?.text("customPayload") == "shop",
                "the application's own is laid over")
            #expect(
                try asWhole.json.objects("changes").map { $0.text("path") } == ["/beaconSeconds", "/customPayload"])
            let asApplication = try await client.post(
                "\(Self.base)/validate?application=com.example.shop", bearer: bearer, json: #"{"beaconSeconds": 80}"#)
            #expect(try asApplication.json.object("effective")?.number("beaconSeconds") == 80)
            #expect(try asApplication.json.object("effective")?.text("customPayload") == "whole")
            #expect(!String(buffer: asApplication.body).contains("privacyKey"))
            let since = try await client.post(
                "\(Self.base)/validate?from=1", bearer: bearer, json: #"{"beaconSeconds": 60}"#)
            #expect(try since.json.number("from") == 1)
            #expect(try since.json.objects("changes").contains { $0.text("path") == "/analytics" })
            try await client.post("\(Self.base)/validate?from=99", bearer: bearer, json: "{}").expect(404, "not-found")
            let bad = try await client.post(
                "\(Self.base)/validate", bearer: bearer, json: #"{"sampling": {"sampleSeconds": -1}}"#)
            try bad.expect(422, "invalid-field")
            let elsewhere = "\(Self.base)/validate?application=com.example.other&device=\(device.deviceID)"
            try await client.post(elsewhere, bearer: bearer, json: "{}").expect(400, "invalid-parameter")
            let after = try await client.json(Self.base, bearer: bearer).objects("items").first
            #expect(after?.number("revision") == Int(newest), "nothing was put")
        }
    }

    @Test func `A profile that is tried out says how many devices it may wipe or silence`() async throws {
        let harness = try MetadataHarness()
        try await harness.route { client in
            let bearer = harness.administrator
            for (application, version) in [("com.example.shop", "2.3"), ("com.example.shop", "2.4"), ("", "")] {
                let device = try await harness.device(application: application)
                var beacon = WireBeacon()
                beacon.applicationVersion = version
                var status = ChainBuilder(stream: .status)
                var request = WireBatchRequest()
                request.parts = [status.part(kind: .beacon, bodies: [beacon.encoded]).wire]
                let sent = try await client.post(WireNames.batchesPath, bearer: device.credential, request.encoded)
                #expect(sent.status == .ok)
            }
            func risks(_ profile: String, _ query: String = "") async throws -> [String] {
                let answer = try await client.post("\(Self.base)/validate\(query)", bearer: bearer, json: profile)
                return try answer.json.objects("risks").map { risk in
                    "\(risk.text("effect") ?? "") \(risk.text("rule") ?? "-") "
                        + "\(risk.number("devicesNow") ?? -1) of \(risk.number("devices") ?? -1)"
                }
            }
            let rule = """
                {"compliance": [{"id": "new", "subject": "application-version", "operator": ">=", "version": "2.4", \
                "consequence": "wipe"}]}
                """
            #expect(try await risks(rule) == ["wipe new 1 of 3"])
            #expect(try await risks(rule, "?application=com.example.shop") == ["wipe new 1 of 2"])
            #expect(try await risks(rule, "?application=com.example.other") == ["wipe new 0 of 0"])
            #expect(try await risks(#"{"telemetryDisabled": true}"#) == ["telemetry-off - 3 of 3"])
            #expect(try await risks(#"{"beaconSeconds": 60}"#).isEmpty)
            // What devices already get is no change.
            _ = try await Self.put(client, bearer, rule)
            #expect(try await risks(rule).isEmpty)
            // Nor does it reach an application that says otherwise.
            _ = try await Self.put(
                client, bearer, #"{"telemetryDisabled": false}"#, application: "com.example.shop")
            #expect(try await risks(#"{"telemetryDisabled": true}"#) == ["telemetry-off - 1 of 1"])
        }
    }

    @Test func `Revisions are listed in part`() async throws {
        let harness = try MetadataHarness()
        try await harness.metadata.createOrganization("west")
        try await harness.route { client in
            let bearer = harness.administrator
            for application in ["", "com.example.shop", "com.example.till", "com.example.shop", ""] {
                _ = try await Self.put(client, bearer, #"{"beaconSeconds": 60}"#, application: application)
            }
            func list(_ query: String) async throws -> [String] {
                var (found, cursor): ([String], String?) = ([], nil)
                repeat {
                    let page = try await client.json(
                        "\(Self.base)?limit=2\(query)" + (cursor.map { "&cursor=\($0)" } ?? ""), bearer: bearer)
                    found += page.objects("items").map {
                        "\($0.number("revision") ?? 0) \($0.text("application") ?? "-")"
                    }
                    cursor = page.text("next")
                } while cursor != nil
                return found
            }
            let all = [
                "6 -", "5 com.example.shop", "4 com.example.till", "3 com.example.shop", "2 -", "1 -",
            ]
            #expect(try await list("") == all)
            #expect(try await list("&own=true") == ["6 -", "2 -", "1 -"])
            #expect(try await list("&newest=true") == ["6 -", "5 com.example.shop", "4 com.example.till"])
            #expect(try await list("&newest=true&own=true") == ["6 -"])
            #expect(try await list("&newest=true&application=com.example.shop") == ["5 com.example.shop"])
            try await client.send(.get, "\(Self.base)?own=true&application=a", bearer: bearer).expect(
                400, "invalid-parameter")
            let brief = try await client.json("\(Self.base)?brief=true", bearer: bearer).objects("items")
            #expect(brief.count == 6 && brief.allSatisfy { $0["profile"] == nil && $0["createdAt"] != nil })
            let whole = try await client.json(Self.base, bearer: bearer).objects("items")
            #expect(whole.allSatisfy { $0["profile"] != nil })
        }
    }

    @Test func `Adoption says what devices run`() async throws {
        let harness = try MetadataHarness()
        try await harness.route { client in
            let bearer = harness.administrator
            let newest = try await Self.put(client, bearer, #"{"beaconSeconds": 60}"#)
            for revision in [1, newest, newest, 0] {
                let device = try await harness.device()
                var events = ChainBuilder(stream: .event)
                var request = WireBatchRequest()
                request.parts = [events.events(["a"]).wire]
                request.profileRevision = revision
                #expect(
                    try await client.post(WireNames.batchesPath, bearer: device.credential, request.encoded).status
                        == .ok)
            }
            let shown = try await client.json("\(Self.base)/adoption", bearer: bearer).objects("items")
            #expect(shown.map { $0.number("revision") } == [nil, 1, Int(newest)])
            #expect(shown.map { $0.number("devices") } == [1, 1, 2])
            #expect(shown.allSatisfy { $0.number("newestRevision") == Int(newest) && $0.text("application") == nil })
        }
    }
}
