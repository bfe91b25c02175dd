import CollectorAPI
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Registry
import Testing
import WireModel

@Suite("Profiles over HTTP")
struct ProfileRoutesTests {
    private static let path = "/api/v1/profiles/default"
    private static let json: HTTPFields = [.contentType: WireNames.json]

    @Test(arguments: ["a%00", "a%0Ab", "a%1B%5B2J", "a%C2%9Bb"])
    func `An application with control characters is refused`(
        name: String
    ) async throws {
        try await Harness().route { client in
            let refused = try await client.send(
                .put, "/api/v1/profiles/default/\(name)", bearer: "administrator-default",
                headers: [.contentType: "application/json"],
                body: Data("{}".utf8))
            #expect(refused.status == .badRequest)
            #expect(try refused.problem.code == "invalid-parameter")
        }
    }

    @Test func `A new organization has its default, and a device gets it with the key`() async throws {
        let harness = try MetadataHarness()
        try await harness.route { client in
            let device = try await harness.device()
            #expect(device.profileRevision == 1)
            let response = try await client.send(.get, WireNames.profilePath, bearer: device.credential)
            let profile = try response.message(WireProfile.self)
            try profile.validate()
            #expect(profile.revision == 1 && profile.privacyKey.count == 32 && profile.analytics.enabled)
            #expect(profile.logging.enabled && profile.logging.level == .information)
            #expect(
                profile.sampling.modules == ["system", "analytics", "networkData", "networkAdapter", "wlan2", "custom"])
            // The device's own settings hold where the organization has decided nothing.
            #expect(
                !profile.hasBeaconSeconds && !profile.analytics.hasHoldSeconds && !profile.hasTelemetryDisabled
                    && !profile.hasTest)
            #expect(
                !profile.sampling.hasSampleSeconds && !profile.sampling.hasTransmitSeconds
                    && profile.sampling.overrides.isEmpty)
            #expect(
                profile.privacy.isEmpty && profile.transmission.isEmpty && !profile.hasBudgets
                    && !profile.hasOfflineTimeAllowedSeconds)
            let tag = try #require(response.headers[.eTag])
            let again = try await client.send(
                .get, WireNames.profilePath, bearer: device.credential, headers: [.ifNoneMatch: tag])
            #expect(again.status == .notModified)
            // People never see the key.
            let shown = try await client.send(.get, Self.path + "?effective=true", bearer: harness.administrator)
            #expect(shown.status == .ok)
            #expect(!String(buffer: shown.body).lowercased().contains("key"))
        }
    }

    @Test func `A put makes a revision that devices learn of, and the application's is laid over it`() async throws {
        let harness = try MetadataHarness()
        try await harness.route { client in
            let plain = try await harness.device()
            let app = try await harness.device(application: "com.example.shop")
            let admin = try await harness.person(.administrator)
            func revision(_ device: EnrollResult) async throws -> UInt64 {
                var events = ChainBuilder(stream: .event)
                let answer = try await client.post(
                    WireNames.batchesPath, bearer: device.credential, [events.events(["a"])].request)
                return try answer.message(WireBatchAnswer.self).profileRevision
            }
            func profile(_ device: EnrollResult) async throws -> WireProfile {
                try await client.send(.get, WireNames.profilePath, bearer: device.credential).message(WireProfile.self)
            }
            #expect(try await [revision(plain), revision(app)] == [1, 1])
            let whole = """
                {"sampling": {"modules": ["system"], "sampleSeconds": 30, "overrides": [{"module": "wlan2", \
                "sampleSeconds": 5}]},
                 "logging": {"level": "error", "scrubValues": ["a"]}, "privacy": {"ssid": "hash", "mac": "drop"}, \
                "beaconSeconds": 120,
                 "transmission": [{"data": "sample", "networks": ["wifi", "NETWORK_CLASS_ETHERNET"],
                                   "ssids": ["Office"], "metered": false}]}
                """
            let put = try await client.send(.put, Self.path, bearer: admin, headers: Self.json, body: Data(whole.utf8))
            #expect(put.status == .ok && put.headers[.eTag] == "\"2\"")
            #expect(try put.json.number("revision") == 2 && put.json.text("author") == "administrator")
            #expect(try await [revision(plain), revision(app)] == [2, 2])
            let own = """
                {"sampling": {"modules": [], "overrides": [{"module": "wlan2", "transmitSeconds": 9}]},
                 "logging": {"scrubValues": ["b"]}, "privacy": {"ssid": "send"}, "customPayload": "raw"}
                """
            let appPath = Self.path + "/com.example.shop"
            #expect(try await client.send(.get, appPath, bearer: admin).status == .notFound)
            #expect(
                try await client.send(.put, appPath, bearer: admin, headers: Self.json, body: Data(own.utf8)).status
                    == .ok)
            #expect(try await [revision(plain), revision(app)] == [2, 3])
            let laid = try await profile(app)
            #expect(laid.revision == 3 && laid.application == "com.example.shop" && laid.sampling.modules.isEmpty)
            #expect(
                laid.sampling.modulesGiven && laid.sampling.sampleSeconds == 30 && laid.sampling.overrides.count == 1)
            #expect(laid.sampling.overrides[0].sampleSeconds == 5 && laid.sampling.overrides[0].transmitSeconds == 9)
            #expect(
                laid.logging.level == .error && laid.logging.scrubValues == ["a", "b"] && laid.beaconSeconds == 120)
            #expect(laid.privacy == ["ssid": .send, "mac": .drop] && laid.customPayload == "raw" && !laid.hasAnalytics)
            #expect(laid.transmission[0].networks == [.wifi, .ethernet] && laid.transmission[0].ssids == ["Office"])
            #expect(try await profile(plain).customPayload.isEmpty)
            // The organization's changes: the application's devices learn of it too.
            _ = try await client.send(.put, Self.path, bearer: admin, headers: Self.json, body: Data("{}".utf8))
            #expect(try await [revision(plain), revision(app)] == [4, 4])
        }
    }

    private static let mergePatch: HTTPFields = [.contentType: WireNames.mergePatch]

    /// `[["/logging/level", "\"error\""], ...]`
    private static func reset(_ response: TestResponse) throws -> [String] {
        try response.json.objects("reset").map { change in
            #expect(change["from"] != nil && change["to"] == nil)
            return try #require(change.text("path"))
        }
    }

    @Test func `A patch changes what it names and leaves the rest`() async throws {
        let harness = try MetadataHarness()
        try await harness.route { client in
            let admin = try await harness.person(.administrator)
            func send(_ method: HTTPRequest.Method, _ headers: HTTPFields, _ text: String, _ path: String = Self.path)
                async throws
                -> TestResponse
            {
                try await client.send(method, path, bearer: admin, headers: headers, body: Data(text.utf8))
            }
            let whole = """
                {"sampling": {"modules": ["system"], "sampleSeconds": 30}, "logging": {"level": "error", \
                "scrubValues": ["a"]},
                 "privacy": {"ssid": "hash", "mac": "drop"}, "beaconSeconds": 120, "customPayload": "raw"}
                """
            #expect(try await send(.put, Self.json, whole).status == .ok)
            let patch =
                #"""
                {"logging": {"level": "verbose", "scrubValues": null}, "privacy": {"mac": null}, "beaconSeconds": 300}
                """#
            let patched = try await send(.patch, Self.mergePatch, patch)
            #expect(patched.status == .ok && patched.headers[.eTag] == "\"3\"", "\(String(buffer: patched.body))")
            #expect(try Self.reset(patched) == ["/logging/scrubValues", "/privacy/mac"])
            let row = try #require(
                try await harness.metadata.profile(ProfileScope(organization: "default"), revision: nil))
            let profile = row.profile
            #expect(row.revision == 3 && row.author == "administrator")
            #expect(
                profile.sampling.modules == ["system"] && profile.sampling.modulesGiven
                    && profile.sampling.sampleSeconds == 30)
            #expect(
                profile.logging.level == .verbose && profile.logging.scrubValues.isEmpty
                    && profile.privacy == ["ssid": .hash])
            #expect(profile.beaconSeconds == 300 && profile.customPayload == "raw")
            let audit = try await harness.metadata.audit(AuditQuery(organization: "default"), below: nil, limit: 10)
            #expect(audit.rows.first?.entry.action == .profilePut && audit.rows.first?.entry.detail["revision"] == "3")

            // With a precondition.
            var headers = Self.mergePatch
            headers[.ifMatch] = "\"2\""
            let late = try await send(.patch, headers, #"{"beaconSeconds": 60}"#)
            #expect(try late.status == .preconditionFailed && late.problem.code == "precondition-failed")
            headers[.ifMatch] = "\"3\""
            #expect(try await send(.patch, headers, #"{"beaconSeconds": 60}"#).headers[.eTag] == "\"4\"")

            // An application without a profile gets one with what is named.
            let own = try await send(
                .patch, Self.mergePatch, #"{"logging": {"level": "verbose", "enabled": null}}"#,
                Self.path + "/com.example.shop")
            #expect(try own.status == .ok && Self.reset(own).isEmpty)
            let scope = ProfileScope(organization: "default", application: "com.example.shop")
            #expect(try await harness.metadata.profile(scope, revision: nil)?.profile.hasBeaconSeconds == false)
        }
    }

    @Test func `A patch is checked as a put is`() async throws {
        let harness = try MetadataHarness()
        try await harness.route { client in
            let admin = try await harness.person(.administrator)
            for (patch, field) in [
                (#"{"beaconSeconds": 59}"#, "beaconSeconds"), (#"{"logging": {"level": "loud"}}"#, "logging.level"),
                (#"{"loging": null}"#, "loging"), (#"{"sampling": {"modulez": null}}"#, "sampling.modulez"),
                (#"{"revision": 7}"#, "revision"),
            ] {
                let refused = try await client.send(
                    .patch, Self.path, bearer: admin, headers: Self.mergePatch, body: Data(patch.utf8))
                #expect(refused.status.code == 422, "\(patch)")
                #expect(try refused.problem.code == "invalid-field" && refused.problem.field == field, "\(patch)")
            }
            for document in ["[]", "null", "7"] {
                let refused = try await client.send(
                    .patch, Self.path, bearer: admin, headers: Self.mergePatch, body: Data(document.utf8))
                #expect(try refused.status == .badRequest && refused.problem.code == "malformed", "\(document)")
            }
            let otherType = try await client.send(
                .patch, Self.path, bearer: admin, headers: Self.json, body: Data("{}".utf8))
            #expect(try otherType.status == .unsupportedMediaType && otherType.problem.code == "unsupported-media-type")
            let acceptPatch = try #require(HTTPField.Name("Accept-Patch"))
            #expect(otherType.headers[acceptPatch] == "application/merge-patch+json")
            let put = try await client.send(
                .put, Self.path, bearer: admin, headers: Self.mergePatch, body: Data("{}".utf8))
            #expect(put.status == .unsupportedMediaType)
            let wrong = try await client.send(.delete, Self.path, bearer: admin)
            #expect(wrong.headers[.allow] == "GET, HEAD, PUT, PATCH")
            #expect(
                try await harness.metadata.profile(ProfileScope(organization: "default"), revision: nil)?.revision == 1)
        }
    }

    /// Two who change different parts at the same time: neither undoes what the other did.
    @Test func `Patches at the same time all hold`() async throws {
        let harness = try MetadataHarness()
        try await harness.route { client in
            let admin = try await harness.person(.administrator)
            let names = ["ssid", "mac", "position", "bssid"]
            try await withThrowingTaskGroup(of: Void.self) { group in
                for name in names {
                    group.addTask {
                        let patched = try await client.send(
                            .patch, Self.path, bearer: admin, headers: Self.mergePatch,
                            body: Data(#"{"privacy": {"\#(name)": "drop"}}"#.utf8))
                        #expect(patched.status == .ok, "\(String(buffer: patched.body))")
                    }
                }
                try await group.waitForAll()
            }
            let row = try await harness.metadata.profile(ProfileScope(organization: "default"), revision: nil)
            #expect(row?.revision == 5 && Set(row?.profile.privacy.keys.map { $0 } ?? []) == Set(names))
        }
    }

    @Test func `A put says which settings it reset to their defaults`() async throws {
        let harness = try MetadataHarness()
        try await harness.route { client in
            let admin = try await harness.person(.administrator)
            let whole = """
                {"sampling": {"modules": ["system"], "sampleSeconds": 30}, "logging": {"level": "error"}, \
                "beaconSeconds": 120}
                """
            #expect(
                try await client.send(.put, Self.path, bearer: admin, headers: Self.json, body: Data(whole.utf8)).status
                    == .ok)
            let put = try await client.send(
                .put, Self.path, bearer: admin, headers: Self.json,
                body: Data(#"{"sampling": {"modules": []}, "beaconSeconds": 60}"#.utf8))
            #expect(try Self.reset(put) == ["/logging/level", "/sampling/sampleSeconds"])
            #expect(try put.json.objects("reset").first?.text("from") == "error")
            let again = try await client.send(
                .put, Self.path, bearer: admin, headers: Self.json,
                body: Data(#"{"sampling": {"modules": []}, "beaconSeconds": 90}"#.utf8))
            #expect(try again.json["reset"] != nil && Self.reset(again).isEmpty)
            // Who reads it hears nothing of that.
            #expect(try await client.json(Self.path, bearer: admin)["reset"] == nil)
        }
    }

    @Test func `What is shown can be put again`() async throws {
        let harness = try MetadataHarness()
        try await harness.route { client in
            let whole = """
                {"sampling": {"modules": []}, "logging": {"level": "verbose", "wifiOnly": true, "scrubPatterns": \
                ["a+"]},
                 "privacy": {"position": "coarsen"}, "geofences": [{"id": "zero", "latitude": 0, "longitude": 0, \
                "radiusMeters": 5}, {"id": "area", "name": "Area", "corners": [{"latitude": 0, "longitude": 0}, \
                {"latitude": 0, "longitude": 1}, {"latitude": 1.5, "longitude": -180e-2}]}],
                 "compliance": [{"id": "os", "subject": "operating-system-version", "operator": ">=", "version": "12", \
                "action": "tell",
                  "consequence": "wipe"}, {"id": "at", "subject": "location", "operator": "outside", \
                "geofence": "area"}],
                 "detection": {"detectors": [], "systemPaths": ["/etc"], "unsignedKernelModules": ["nvidia"], \
                "consequence": "block"},
                 "certificatePins": ["\(Data(repeating: 1, count: 32).base64EncodedString())"],
                 "certificateAuthorities": ["\(ProfileAuthoritiesTests.base64(TestCertificates.authority))"], \
                "telemetryDisabled": false,
                 "budgets": {"sentBytesPerDay": 1000000, "cpuShare": 50}, "analytics": {"holdSeconds": 0}, \
                "doNotDisturbAllowed": true}
                """
            let bearer = harness.administrator
            _ = try await client.send(.put, Self.path, bearer: bearer, headers: Self.json, body: Data(whole.utf8))
            let first = try await harness.metadata.profile(ProfileScope(organization: "default"), revision: 2)
            let shown = try await client.json(Self.path, bearer: bearer).object("profile")
            let body = try JSONSerialization.data(withJSONObject: try #require(shown).fields)
            let put = try await client.send(.put, Self.path, bearer: bearer, headers: Self.json, body: body)
            #expect(put.status == .ok, "\(String(buffer: put.body))")
            var second = try await harness.metadata.profile(ProfileScope(organization: "default"), revision: 3)
            second?.profile.revision = 2
            #expect(second?.profile == first?.profile && first != nil)
        }
    }

    @Test(arguments: [
        (#"{"sampling": {"sampleSeconds": 0.5}}"#, "sampling.sampleSeconds"),
        (#"{"sampling": {"modules": ["sytem"]}}"#, "sampling.modules[0]"),
        (#"{"sampling": {"modules": "system"}}"#, "sampling.modules"),
        (#"{"sampling": {"modulez": []}}"#, "sampling.modulez"),
        (#"{"logging": {"level": "loud"}}"#, "logging.level"),
        (#"{"logging": {"scrubPatterns": ["("]}}"#, "logging.scrubPatterns[0]"),
        (#"{"privacy": {"ssid": "keep"}}"#, "privacy.ssid"),
        (#"{"privacy": {"shoes": "drop"}}"#, "privacy"), (#"{"privacy": {"technical": "drop"}}"#, "privacy"),
        (#"{"beaconSeconds": 59}"#, "beaconSeconds"),
        (#"{"beaconSeconds": -1}"#, "beaconSeconds"),
        (#"{"privacyKey": "AAAA"}"#, "privacyKey"),
        (#"{"revision": 9}"#, "revision"),
        (#"{"certificatePins": ["*"]}"#, "certificatePins[0]"),
        (#"{"certificateAuthorities": ["*"]}"#, "certificateAuthorities[0]"),
        (#"{"geofences": [{"id": "a", "latitude": 1}]}"#, "geofences[0].longitude"),
        (#"{"geofences": [{"id": "a", "corners": []}]}"#, "geofences[0].corners"),
        (#"{"geofences": [{"id": "a", "corners": [{"latitude": 1}]}]}"#, "geofences[0].corners[0].longitude"),
        (#"{"geofences": [{"id": "a", "corners": [{"latitude": "1"}]}]}"#, "geofences[0].corners[0].longitude"),
        (
            #"{"geofences": [{"id": "a", "corners": [{"latitude": "1", "longitude": 1}]}]}"#,
            "geofences[0].corners[0].latitude"
        ),
        (
            #"{"geofences": [{"id": "a", "radiusMeters": 0, "corners": [{"latitude": 1, "longitude": 1}]}]}"#,
            "geofences[0].radiusMeters"
        ),
        (
            #"{"geofences": [{"id": "a", "corners": [{"latitude": 1, "longitude": 1, "altitude": 1}]}]}"#,
            "geofences[0].corners[0].altitude"
        ),
        (
            #"{"compliance": [{"id": "a", "subject": "location", "operator": "inside", "geofence": "yard"}]}"#,
            "compliance[0].geofence"
        ),
        (#"{"transmission": [{"data": "sample", "networks": ["wlan"]}]}"#, "transmission[0].networks[0]"),
        (#"{"detection": {"consequence": "erase"}}"#, "detection.consequence"),
        (#"{"detection": {"detector": []}}"#, "detection.detector"),
        (#"{"transmission": [{"data": "sample", "ssids": [""]}]}"#, "transmission[0].ssids[0]"),
        (#"{"whatever": 1}"#, "whatever"),
    ])
    func whatCannotBeIsRefusedByTheNameOfItsField(body: String, field: String) async throws {
        let harness = try MetadataHarness()
        try await harness.route { client in
            let response = try await client.send(
                .put, Self.path, bearer: harness.administrator, headers: Self.json, body: Data(body.utf8))
            #expect(response.status == .unprocessableContent)
            let problem = try response.problem
            #expect(
                problem.code == "invalid-field" && problem.field == field && problem.detail?.contains(field) == true)
            #expect(
                try await harness.metadata.profile(ProfileScope(organization: "default"), revision: nil)?.revision == 1)
        }
    }

    /// Rules and geofences are laid over each other as whole lists, so those that stay together are checked together.
    @Test func `A rule names a geofence that its devices have, in whichever profile it is`() async throws {
        let harness = try MetadataHarness()
        try await harness.route { client in
            func put(_ application: String, _ body: String) async throws -> String? {
                let answer = try await client.send(
                    .put, Self.path + application, bearer: harness.administrator, headers: Self.json,
                    body: Data(body.utf8))
                return answer.status == .ok ? nil : try answer.problem.detail ?? ""
            }
            let rule = #""compliance": [{"id": "a", "subject": "location", "operator": "inside", "geofence": "yard"}]"#
            func fence(_ id: String) -> String {
                #""geofences": [{"id": "\#(id)", "latitude": 1, "longitude": 1, "radiusMeters": 100}]"#
            }
            let shop = "/com.example.shop"
            let unknown = try #require(try await put(shop, "{\(rule)}"))
            #expect(unknown.contains("compliance[0].geofence") && unknown.contains("is \"yard\""), "\(unknown)")
            #expect(try await put("", "{\(fence("yard"))}") == nil)
            #expect(try await put(shop, "{\(rule)}") == nil, "of the organization")
            // The application's rule would lose its geofence.
            let refused = try #require(try await put("", "{\(fence("gate"))}"))
            #expect(refused.contains("com.example.shop") && refused.contains("yard"), "\(refused)")
            #expect(try await put("", "{\(fence("yard")), \(rule)}") == nil)
            // The application's geofences would take the place of the one that the organization's rule names.
            #expect(try await put("/com.example.till", "{\(fence("till"))}")?.contains("yard") == true)
            let preview = try await client.send(
                .post, "/api/v1/profile-revisions/default/validate", bearer: harness.administrator,
                headers: Self.json, body: Data("{\(fence("gate"))}".utf8))
            #expect(preview.status == .unprocessableContent)
        }
    }

    @Test func `A lost update is refused`() async throws {
        let harness = try MetadataHarness()
        try await harness.route { client in
            func expect(_ path: String, _ condition: HTTPFields, _ status: HTTPResponse.Status) async throws {
                var headers = Self.json
                headers.append(contentsOf: condition)
                let response = try await client.send(
                    .put, path, bearer: harness.administrator, headers: headers, body: Data("{}".utf8))
                #expect(response.status == status, "\(path) \(condition)")
            }
            try await expect(Self.path, [.ifMatch: "\"1\""], .ok)
            try await expect(Self.path, [.ifMatch: "\"1\""], .preconditionFailed)
            try await expect(Self.path, [.ifMatch: "\"9\", \"2\""], .ok)
            try await expect(Self.path + "/application", [.ifMatch: "*"], .preconditionFailed)
            try await expect(Self.path + "/application", [.ifNoneMatch: "*"], .ok)
            try await expect(Self.path + "/application", [.ifNoneMatch: "*"], .preconditionFailed)
        }
    }

    @Test func `Revisions are listed, and old ones are readable`() async throws {
        let harness = try MetadataHarness()
        try await harness.route { client in
            let bearer = harness.administrator
            for (path, seconds) in [(Self.path, 61), (Self.path + "/application", 62), (Self.path, 63)] {
                let body = Data(#"{"beaconSeconds": \#(seconds)}"#.utf8)
                _ = try await client.send(.put, path, bearer: bearer, headers: Self.json, body: body)
            }
            let list = "/api/v1/profile-revisions/default"
            let page = try await client.json(list + "?limit=3", bearer: bearer)
            #expect(page.objects("items").map { $0.number("revision") } == [4, 3, 2])
            let rest = try await client.json(list + "?limit=3&cursor=\(page.text("next") ?? "")", bearer: bearer)
            #expect(rest.objects("items").map { $0.number("revision") } == [1] && rest.text("next") == nil)
            let ofApp = try await client.json(list + "?application=application", bearer: bearer)
            #expect(ofApp.objects("items").map { $0.text("application") } == ["application"])
            let old = try await client.json(Self.path + "?revision=2", bearer: bearer)
            #expect(old.object("profile")?.number("beaconSeconds") == 61)
            _ = try await client.json(Self.path + "?revision=3", bearer: bearer, status: .notFound)
        }
    }

    @Test func `Only administrators put, and another organization is not there`() async throws {
        let harness = try MetadataHarness()
        try await harness.route { client in
            try await harness.metadata.createOrganization("other")
            let viewer = try await harness.person(.viewer)
            let other = try await harness.person(.administrator, "other")
            let body = Data("{}".utf8)
            #expect(try await client.send(.get, Self.path, bearer: viewer).status == .ok)
            let operatorToken = try await harness.person(.operator)
            #expect(
                try await client.send(.put, Self.path, bearer: operatorToken, headers: Self.json, body: body).status
                    == .forbidden)
            #expect(try await client.send(.get, Self.path, bearer: other).status == .notFound)
            #expect(
                try await client.send(.put, Self.path, bearer: other, headers: Self.json, body: body).status
                    == .notFound)
            #expect(try await client.send(.get, "/api/v1/profile-revisions/default", bearer: other).status == .notFound)
            #expect(
                try await client.send(
                    .put, "/api/v1/profiles/none", bearer: harness.administrator, headers: Self.json, body: body
                ).status
                    == .notFound)
            #expect(
                try await client.send(.put, Self.path, bearer: harness.administrator, body: body).status
                    == .unsupportedMediaType)
        }
    }
}
