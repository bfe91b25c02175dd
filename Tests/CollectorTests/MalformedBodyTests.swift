import Collector
import Foundation
import Gzip
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import RecordStore
import StoreTestKit
import Testing
import WireModel

/// Whatever bytes come: an answer, never a crash, and nothing stored that was not sent so.
@Suite("Bodies that are not what they say")
struct MalformedBodyTests {
    private static func request() -> Data {
        var events = ChainBuilder(epoch: EpochID(high: 9, low: 9), stream: .event)
        return [events.events(["first", "second", "third"])].request
    }

    private static func send(
        _ client: any TestClientProtocol, _ body: Data, bearer: String, encoding: String? = nil,
        type: String = WireNames.protobuf
    ) async throws -> TestResponse {
        var headers: HTTPFields = [.contentType: type]
        if let encoding { headers[.contentEncoding] = encoding }
        return try await client.send(.post, WireNames.batchesPath, bearer: bearer, headers: headers, body: body)
    }

    @Test func `Truncated at every byte, nothing is stored`() async throws {
        let harness = Harness()
        let device = try await harness.enrolledDevice()
        let (plain, compressed) = (Self.request(), try GzipCodec.compress(Self.request()))
        try await harness.route { client in
            for (body, encoding) in [(plain, nil), (compressed, "gzip")] as [(Data, String?)] {
                for length in 0..<body.count {
                    let response = try await Self.send(
                        client, body.prefix(length), bearer: device.credential, encoding: encoding)
                    // Cut between two fields the rest is a message; its part then does not add up.
                    if response.status == .ok {
                        #expect(try response.message(WireBatchAnswer.self).parts.allSatisfy { $0.outcome == .damaged })
                    } else {
                        #expect(response.status == .badRequest)
                        _ = try response.problem
                    }
                }
            }
        }
        #expect(harness.store.storedCount == 0)
    }

    @Test func `With any bit flipped, nothing is stored but whole chains`() async throws {
        let harness = Harness()
        let device = try await harness.enrolledDevice()
        let body = Self.request()
        try await harness.route { client in
            for position in body.indices {
                for bit in 0..<8 {
                    var flipped = body
                    flipped[position] ^= 1 << bit
                    let stored = harness.store.storedCount
                    let response = try await Self.send(client, flipped, bearer: device.credential)
                    if response.status == .ok {
                        let outcomes = try response.message(WireBatchAnswer.self).parts.map(\.outcome)
                        // Another epoch, other totals, or an unknown field: the records and their chain are whole.
                        if harness.store.storedCount > stored { #expect(outcomes == [.stored]) }
                    } else {
                        #expect((400..<500).contains(response.status.code))
                        _ = try response.problem
                        #expect(harness.store.storedCount == stored)
                    }
                }
            }
        }
        let records = try await harness.store.records(
            of: device.id, stream: .event, kind: nil, module: nil, before: nil, limit: 1000)
        for record in records.records {
            let event = try WireEvent.decode(record.header.body(of: record.bytes))
            #expect(["first", "second", "third"].contains(event.name), "a flipped bit inside a record was stored")
        }
    }

    @Test func `A flipped bit in gzip is refused unless the content is the same`() async throws {
        let harness = Harness()
        let device = try await harness.enrolledDevice()
        let body = try GzipCodec.compress(Self.request())
        try await harness.route { client in
            // Bytes 3 to 9 of a gzip header (flags, time, hint, system) do not change the content.
            for position in Array(10..<body.count) {
                var flipped = body
                flipped[position] ^= 0x10
                let response = try await Self.send(client, flipped, bearer: device.credential, encoding: "gzip")
                // The padding after the last symbol can be anything; what inflates passed its checksum.
                if response.status == .ok { continue }
                #expect([400, 413].contains(response.status.code), "byte \(position)")
                _ = try response.problem
            }
        }
        let records = try await harness.store.records(
            of: device.id, stream: .event, kind: nil, module: nil, before: nil, limit: 1000)
        let names = try records.records.map { try WireEvent.decode($0.header.body(of: $0.bytes)).name }
        #expect(names.isEmpty || names == ["third", "second", "first"])
    }

    @Test func `An encoding or type that is not true or not known is refused`() async throws {
        let harness = Harness()
        let device = try await harness.enrolledDevice()
        let (plain, compressed) = (Self.request(), try GzipCodec.compress(Self.request()))
        let cases: [(Data, String?, String, Int, String)] = [
            (plain, "gzip", WireNames.protobuf, 400, "malformed-gzip"),
            (compressed, nil, WireNames.protobuf, 400, "malformed"),
            (compressed + Data([1, 2, 3]), "gzip", WireNames.protobuf, 400, "malformed-gzip"),
            (Data(), "gzip", WireNames.protobuf, 400, "malformed-gzip"),
            (compressed, "br", WireNames.protobuf, 415, "unsupported-content-encoding"),
            (compressed, "gzip, gzip", WireNames.protobuf, 415, "unsupported-content-encoding"),
            (plain, nil, "application/json", 415, "unsupported-media-type"),
            (plain, nil, "", 415, "unsupported-media-type"),
        ]
        try await harness.route { client in
            for (body, encoding, type, status, code) in cases {
                let response = try await Self.send(
                    client, body, bearer: device.credential, encoding: encoding, type: type)
                #expect(response.status.code == status, "\(code)")
                #expect(try response.problem.code == code)
            }
        }
        #expect(harness.store.storedCount == 0)
    }

    @Test func `A bomb is refused while it inflates`() async throws {
        let harness = Harness { $0.inflatedBytes = 1024 * 1024 }
        let device = try await harness.enrolledDevice()
        let zeros = try GzipCodec.compress(Data(count: 900 * 1024), level: 9)
        var generator = SystemRandomNumberGenerator()
        // Compresses about 60 to 1: under the ratio, over the size.
        let line = Data((0..<300).map { _ in UInt8.random(in: 0...255, using: &generator) })
        let large = try GzipCodec.compress((0..<4000).reduce(into: Data()) { data, _ in data += line }, level: 6)
        try await harness.route { client in
            let ratio = try await Self.send(client, zeros, bearer: device.credential, encoding: "gzip")
            #expect(ratio.status == .contentTooLarge)
            #expect(try ratio.problem.code == "inflate-ratio")
            #expect(try ratio.problem.limit == WireLimits.inflateRatio)
            let size = try await Self.send(client, large, bearer: device.credential, encoding: "gzip")
            #expect(size.status == .contentTooLarge)
            #expect(try size.problem.code == Problem.Code.bodyTooLarge.rawValue)
            #expect(try size.problem.limit == 1024 * 1024)
        }
    }

    @Test func `Many tiny things are counted before they are decoded`() throws {
        var part = WireBatchPart()
        part.records = Array(repeating: Data(), count: BatchStructureLimits.records + 1)
        var request = WireBatchRequest()
        request.parts = [part]
        #expect(try BatchStructureLimits.problemCode(request.encoded) == Problem.Code.bodyTooLarge.rawValue)
        request.parts[0].records = []
        request.parts[0].gaps = Array(repeating: WireGap(), count: BatchStructureLimits.gaps + 1)
        #expect(try BatchStructureLimits.problemCode(request.encoded) == Problem.Code.bodyTooLarge.rawValue)
    }
}
