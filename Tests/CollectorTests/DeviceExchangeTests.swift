import Collector
import Foundation
import Gzip
import HTTPTypes
import HummingbirdCore
import NIOCore
import OTLP
import Registry
import StoreTestKit
import SwiftProtobuf
import TestKit
import Testing
import WireModel

@Suite("Devices that do not come over HTTP")
struct DeviceExchangeTests {
    private let harness = Harness()

    private func answer(
        _ method: HTTPRequest.Method, _ path: String, bearer: String?, headers: HTTPFields = [:], body: Data = Data()
    ) async -> DeviceExchange.Answer {
        var head = HTTPRequest(method: method, scheme: nil, authority: nil, path: path, headerFields: headers)
        if let bearer { head.headerFields[.authorization] = "Bearer \(bearer)" }
        return await harness.server.exchange.answer(
            head, body: RequestBody(buffer: ByteBuffer(bytes: body)), from: "mqtt:kiosk")
    }

    private func problem(_ answer: DeviceExchange.Answer) throws -> Problem {
        try JSONDecoder().decode(Problem.self, from: Data(answer.body.readableBytesView))
    }

    @Test func `Enrollment, records and profile are the same as over HTTP`() async throws {
        var request = WireEnrollRequest()
        request.deviceName = "kiosk"
        let enrolled = await answer(
            .post, WireNames.enrollPath, bearer: "enroll-default", headers: [.contentType: WireNames.protobuf],
            body: request.encoded)
        #expect(enrolled.status == 200)
        #expect(enrolled.headers[.init(WireNames.collectorHeader)!] == harness.metadata.collectorID.description)
        let device = try WireEnrollAnswer.decode(Data(enrolled.body.readableBytesView))
        let id = try #require(DeviceID(device.deviceID))

        var chain = ChainBuilder(epoch: EpochID.random(), stream: .event)
        let batch = try GzipCodec.compress([chain.events(["one", "two"])].request)
        let stored = await answer(
            .post, WireNames.batchesPath, bearer: device.credential,
            headers: [.contentType: WireNames.protobuf, .contentEncoding: "gzip"], body: batch)
        #expect(stored.status == 200 && stored.device?.id == id && stored.device?.organization == "default")
        let parts = try WireBatchAnswer.decode(Data(stored.body.readableBytesView)).parts
        #expect(parts.count == 1 && parts.first?.mark.number == 2)

        let profile = await answer(.get, WireNames.profilePath, bearer: device.credential)
        #expect(profile.status == 200)
        #expect(try WireProfile.decode(Data(profile.body.readableBytesView)).organization == "default")
        let known = await answer(
            .get, WireNames.profilePath, bearer: device.credential,
            headers: [.ifNoneMatch: try #require(profile.headers[.eTag])])
        #expect(known.status == 304 && known.body.readableBytes == 0)
    }

    @Test func `No route but those of devices is reachable`() async throws {
        var reached = 0
        for route in harness.server.responder.routes {
            let path = route.path.split(separator: "/", omittingEmptySubsequences: false)
                .map { $0.hasPrefix("{") ? "1" : $0 }.joined(separator: "/")
            let answer = await answer(
                route.method, path, bearer: "administrator-default", body: Data("{}".utf8))
            switch route.access {
            case .device, .enrollmentToken:
                reached += 1
                #expect(answer.status == 401 && answer.device == nil, "\(route.method) \(path)")
            case .anyone, .person, .otlpToken:
                #expect(answer.status == 404, "\(route.method) \(path)")
                let detail =
                    route.access == .otlpToken
                    ? try OTLPStatus(serializedBytes: Data(answer.body.readableBytesView)).message
                    : try problem(answer).detail
                #expect(detail?.contains("routes of devices only") == true, "\(path)")
            }
        }
        #expect(reached > 8)
        // The console is not, either.
        #expect(await answer(.get, "/", bearer: nil).status == 404)
    }

    @Test func `A body over the limit, a broken one and one of another type are refused as over HTTP`() async throws {
        let device = try await harness.enrolledDevice()
        func batch(_ body: Data, _ headers: HTTPFields) async throws -> Problem {
            let answer = await answer(
                .post, WireNames.batchesPath, bearer: device.credential, headers: headers, body: body)
            let problem = try problem(answer)
            #expect(answer.status == problem.status)
            return problem
        }
        let (plain, gzip): (HTTPFields, HTTPFields) = (
            [.contentType: WireNames.protobuf], [.contentType: WireNames.protobuf, .contentEncoding: "gzip"]
        )
        let large = try await batch(Data(count: WireLimits.bodyBytes + 1), plain)
        #expect(large.status == 413 && large.code == Problem.Code.bodyTooLarge.rawValue)
        let broken = try await batch(Data([1, 2, 3]), gzip)
        #expect(broken.status == 400 && broken.code == Problem.Code.malformedGzip.rawValue)
        #expect(try await batch(Data(), [.contentType: "text/plain"]).status == 415)
        #expect(try await batch(try GzipCodec.compress(Data(count: 30 << 20)), gzip).status == 413)
    }

    @Test func `A body is read after the sender is known, and its own problem is the answer`() async throws {
        let device = try await harness.enrolledDevice()
        let reads = Watched(0)
        func send(_ bearer: String) async throws -> DeviceExchange.Answer {
            let head = HTTPRequest(
                method: .post, scheme: nil, authority: nil, path: WireNames.batchesPath,
                headerFields: [.authorization: "Bearer \(bearer)", .contentType: WireNames.protobuf])
            return await harness.server.exchange.answer(
                head, body: RequestBody(asyncSequence: BrokenBody(reads: reads)), from: "mqtt:kiosk")
        }
        #expect(try await send("wrong").status == 401)
        #expect(reads.value == 0)
        let broken = try await send(device.credential)
        #expect(reads.value == 2)
        #expect(broken.status == 408)
        #expect(try problem(broken).code == Problem.Code.partsBroken.rawValue)
    }

    @Test func `A device that asks too often is asked to wait`() async throws {
        let harness = Harness { $0.deviceRequestsPerSecond = 1 }
        let device = try await harness.enrolledDevice()
        var statuses: [Int] = []
        for _ in 0..<6 {
            let answer = await harness.server.exchange.answer(
                HTTPRequest(
                    method: .get, scheme: nil, authority: nil, path: WireNames.commandsPath,
                    headerFields: [.authorization: "Bearer \(device.credential)"]),
                body: RequestBody(buffer: ByteBuffer()), from: "mqtt")
            statuses.append(answer.status)
            if answer.status == 429 { #expect(answer.headers[.retryAfter] != nil) }
        }
        #expect(statuses.first == 200 && statuses.last == 429)
    }
}

/// A body that breaks off after its beginning.
private struct BrokenBody: AsyncSequence, Sendable {
    let reads: Watched<Int>

    struct AsyncIterator: AsyncIteratorProtocol {
        let reads: Watched<Int>

        mutating func next() async throws -> ByteBuffer? {
            reads.change { $0 += 1 }
            guard reads.value > 1 else { return ByteBuffer(repeating: 0, count: 8192) }
            throw Problem(status: 408, code: .partsBroken, title: "Parts broken", retryable: true)
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(reads: reads) }
}
