import CollectorAPI
import Crypto
import Foundation
import HTTPTypes
import HummingbirdTesting
import LogArchive
import Logging
import NIOCore
import NIOSSL
import Registry
import Testing
import WireModel

@testable import Collector

/// Certificate pins that would cut a fleet off do not get into a profile.
@Suite("Certificate pins of profiles")
struct ProfilePinTests {
    private static let base = "/api/v1/profile-revisions/default"
    private static let (own, other) = (Data(repeating: 1, count: 32), Data(repeating: 2, count: 32))

    private static func pins(_ pins: Data...) -> String {
        #"{"certificatePins": ["# + pins.map { "\"\($0.base64EncodedString())\"" }.joined(separator: ", ") + "]}"
    }

    private static func put(_ client: any TestClientProtocol, _ bearer: String, _ json: String) async throws
        -> TestResponse
    {
        try await client.send(
            .put, "/api/v1/profiles/default", bearer: bearer, headers: RouteScene.json, body: Data(json.utf8))
    }

    @Test func `A collector that ends TLS refuses pins without its own, however they come`() async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("collector-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        // Put while a proxy ended TLS.
        let before = try MetadataHarness(in: directory)
        let bearer = before.administrator
        let revision = try await before.server.application().test(.router) { client in
            let response = try await Self.put(client, bearer, Self.pins(Self.other))
            #expect(response.status == .ok)
            return try response.json.number("revision") ?? 0
        }
        before.archive.shutDown()
        await before.metadata.close()

        try await MetadataHarness(in: directory, ownPin: Self.own).route { client in
            for path in ["/api/v1/profiles/default", "/api/v1/profiles/default/application"] {
                let response = try await client.send(
                    .put, path, bearer: bearer, headers: RouteScene.json, body: Data(Self.pins(Self.other).utf8))
                try response.expect(422, "invalid-field")
                #expect(
                    String(buffer: response.body).contains(Self.own.base64EncodedString()), "the pin to add is named")
            }
            try await client.post("\(Self.base)/validate", bearer: bearer, json: Self.pins(Self.other)).expect(
                422, "invalid-field")
            try await client.post("\(Self.base)/rollback", bearer: bearer, json: #"{"revision": \#(revision)}"#)
                .expect(422, "invalid-field")
            #expect(try await Self.put(client, bearer, Self.pins(Self.other, Self.own)).status == .ok)
            #expect(try await Self.put(client, bearer, "{}").status == .ok)
        }
    }

    @Test func `A set of one pin is asked for a backup`() async throws {
        let harness = try MetadataHarness(ownPin: Self.own)
        try await harness.route { client in
            for (json, paths) in [
                (Self.pins(Self.own), ["/certificatePins"]), (Self.pins(Self.own, Self.other), []), ("{}", []),
            ] as [(String, [String?])] {
                let path = "\(Self.base)/validate"
                let answer = try await client.post(path, bearer: harness.administrator, json: json).json
                #expect(answer.objects("findings").map { $0.text("path") } == paths)
            }
        }
    }

    @Test func `The pin is that of the key that is served`() throws {
        let files = try ServerFiles()
        let tls = try ServerTLS(
            try files.server(requiringClients: false), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let leaf = try #require(try NIOSSLCertificate.fromPEMBytes(Array(TestCertificates.server.utf8)).first)
        #expect(tls.pin == Data(SHA256.hash(data: try leaf.extractPublicKey().toSPKIBytes())))
    }

    @Test func `Adoption says on how many devices pins are not in force`() async throws {
        let harness = try MetadataHarness()
        try await harness.route { client in
            for finding in [["certificate-pins-refused"], [], ["certificate-pins-refused"]] {
                let device = try await harness.device()
                var beacon = WireBeacon()
                beacon.profileFindings = finding
                var chain = ChainBuilder(stream: .status)
                var request = WireBatchRequest()
                request.parts = [chain.part(kind: .beacon, bodies: [beacon.encoded]).wire]
                request.profileRevision = 1
                #expect(
                    try await client.post(WireNames.batchesPath, bearer: device.credential, request.encoded).status
                        == .ok)
            }
            let shown = try await client.json("\(Self.base)/adoption", bearer: harness.administrator).objects("items")
            #expect(shown.count == 1 && shown[0].number("devices") == 3)
            #expect(shown[0].object("findings")?.number("certificate-pins-refused") == 2)
        }
    }
}
