import Collector
import CollectorAPI
import Foundation
import Gzip
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Testing
import WireModel

@Suite("Entity tags and gzip")
struct AnswerFinishTests {
    private static func devices(_ harness: Harness, _ count: Int) async throws {
        for _ in 0..<count { _ = try await harness.enrolledDevice() }
    }

    @Test func `An answer that is the same is 304, and another is not`() async throws {
        let harness = Harness()
        try await Self.devices(harness, 1)
        try await harness.route { client in
            func get(_ tag: String?) async throws -> TestResponse {
                try await client.send(
                    .get, "/api/v1/devices", bearer: "viewer-default", headers: tag.map { [.ifNoneMatch: $0] } ?? [:])
            }
            let first = try await get(nil)
            let tag = try #require(first.headers[.eTag])
            #expect(first.status == .ok && first.headers[.cacheControl] == "private, no-cache")
            for field in [tag, "\"x\", \(tag)", "*", String(tag.dropFirst(2))] {
                let again = try await get(field)
                #expect(
                    again.status == .notModified && again.body.readableBytes == 0 && again.headers[.eTag] == tag,
                    "\(field)")
                #expect(again.headers[.init(WireNames.versionHeader)!] != nil)
            }
            #expect(try await get("W/\"other\"").status == .ok)
            try await Self.devices(harness, 1)
            let later = try await get(tag)
            #expect(later.status == .ok && later.headers[.eTag] != tag)
        }
    }

    @Test func `Only reading has a tag, and refusals have none`() async throws {
        let harness = try MetadataHarness()
        try await harness.route { client in
            let refused = try await client.send(.get, "/api/v1/devices?limit=0", bearer: harness.administrator)
            #expect(refused.headers[.eTag] == nil && refused.headers[.cacheControl] == "no-store")
            let made = try await client.send(
                .post, "/api/v1/tokens", bearer: harness.administrator, headers: [.contentType: WireNames.json],
                body: Data(#"{"kind": "person", "name": "a", "role": "viewer"}"#.utf8))
            #expect(made.status == .created && made.headers[.eTag] == nil && made.headers[.cacheControl] == "no-store")
            let profile = try await client.send(.get, "/api/v1/profiles/default", bearer: harness.administrator)
            #expect(profile.headers[.eTag] == "\"1\"", "a revision is its own tag")
            let same = try await client.send(
                .get, "/api/v1/profiles/default", bearer: harness.administrator, headers: [.ifNoneMatch: "\"1\""])
            #expect(same.status == .notModified)
        }
    }

    @Test(arguments: [
        ("gzip", true), ("br, gzip;q=0.5", true), ("*", true), ("GZIP", true), ("gzip;q=0", false), ("br", false),
        ("", false),
    ])
    func `Long answers are compressed where the reader accepts it`(accepted: String, isCompressed: Bool) async throws {
        let harness = Harness()
        try await Self.devices(harness, 40)
        try await harness.route { client in
            let plain = try await client.send(.get, "/api/v1/devices", bearer: "viewer-default")
            #expect(plain.headers[.contentEncoding] == nil && plain.headers[.vary] == "Accept-Encoding")
            let response = try await client.send(
                .get, "/api/v1/devices", bearer: "viewer-default", headers: [.acceptEncoding: accepted])
            #expect((response.headers[.contentEncoding] == "gzip") == isCompressed)
            let bytes = Data(response.body.readableBytesView)
            let text = isCompressed ? try GzipCodec.decompress(bytes) : bytes
            #expect(text == Data(plain.body.readableBytesView))
            if isCompressed { #expect(bytes.count < text.count / 4) }
            let short = try await client.send(.get, "/livez", headers: [.acceptEncoding: accepted])
            #expect(short.headers[.contentEncoding] == nil)
        }
    }

    @Test func `What is written as it is read is compressed piece by piece`() async throws {
        let harness = Harness()
        let device = try await harness.enrolledDevice()
        try await harness.live { client in
            var events = ChainBuilder(stream: .event)
            for _ in 0..<10 {
                let part = events.events((0..<100).map { _ in "\(UInt64.random(in: 0 ... .max))" })
                #expect(
                    try await client.post(WireNames.batchesPath, bearer: device.credential, [part].request).status
                        == .ok)
            }
            let path = "/api/v1/events?limit=1000"
            let plain = try await client.send(.get, path, bearer: "viewer-default")
            let response = try await client.send(
                .get, path, bearer: "viewer-default", headers: [.acceptEncoding: "gzip"])
            #expect(response.headers[.contentEncoding] == "gzip" && response.headers[.contentLength] == nil)
            let text = try GzipCodec.decompress(Data(response.content.readableBytesView))
            #expect(text == Data(plain.content.readableBytesView))
            #expect((try JSONSerialization.jsonObject(with: text) as? [String: Any])?.count == 2)
        }
    }

    @Test func `The same holds over a socket`() async throws {
        let harness = Harness()
        try await Self.devices(harness, 40)
        try await harness.live { client in
            let response = try await client.send(
                .get, "/api/v1/devices", bearer: "viewer-default", headers: [.acceptEncoding: "gzip"])
            #expect(response.headers[.contentEncoding] == "gzip" && response.headers[.contentLength] == nil)
            let text = try GzipCodec.decompress(Data(response.content.readableBytesView))
            let items = try #require(try JSONSerialization.jsonObject(with: text) as? [String: Any])["items"] as? [Any]
            #expect(items?.count == 40)
            let tag = try #require(response.headers[.eTag])
            let again = try await client.send(
                .get, "/api/v1/devices", bearer: "viewer-default", headers: [.ifNoneMatch: tag])
            #expect(again.status == .notModified && again.content.readableBytes == 0)
        }
    }
}
