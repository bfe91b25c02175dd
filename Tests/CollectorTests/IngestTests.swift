import Collector
import Foundation
import Gzip
import HTTPTypes
import HummingbirdTesting
import NIOCore
import RecordStore
import Registry
import StoreTestKit
import Testing
import WireModel

@Suite("Batches over HTTP")
struct IngestTests {
    @Test func `A replayed batch is stored once and answered the same`() async throws {
        let harness = Harness()
        let device = try await harness.enrolledDevice()
        var events = ChainBuilder(stream: .event)
        let parts = [events.events(["a", "b", "c"])]
        try await harness.live { client in
            let first = try await client.post(WireNames.batchesPath, bearer: device.credential, parts.request)
                .message(WireBatchAnswer.self)
            let second = try await client.post(WireNames.batchesPath, bearer: device.credential, parts.request)
                .message(WireBatchAnswer.self)
            #expect(first.parts.map(\.outcome) == [.stored])
            #expect(second.parts.map(\.outcome) == [.already])
            #expect(first.parts[0].mark == second.parts[0].mark)
            #expect(first.parts[0].mark.number == 3)
            #expect(first.durability == "fsync")
            #expect(first.profileRevision == 1, "that of a new organization")
            #expect(first.serverTime == Harness.now)
        }
        #expect(harness.store.storedCount == 3)
    }

    @Test func `Parts of all streams in one request are answered in its order`() async throws {
        let harness = Harness()
        let device = try await harness.enrolledDevice()
        let epoch = EpochID.random()
        var beacons = ChainBuilder(epoch: epoch, stream: .status)
        var samples = ChainBuilder(epoch: epoch, stream: .sample)
        var events = ChainBuilder(epoch: epoch, stream: .event)
        var beacon = WireBeacon()
        beacon.deviceName = "renamed"
        var sample = WireSystemSample()
        sample.identity.hostName = "host-9"
        let parts = [
            samples.part(kind: .sampleSystem, module: "system", bodies: [sample.encoded, WireSystemSample().encoded]),
            beacons.part(kind: .beacon, bodies: [beacon.encoded]), events.events(["x"]),
        ]
        try await harness.route { client in
            let answer = try await client.post(WireNames.batchesPath, bearer: device.credential, parts.request)
                .message(WireBatchAnswer.self)
            #expect(answer.parts.map(\.stream) == [.sample, .status, .event])
            #expect(answer.parts.allSatisfy { $0.outcome == .stored })
        }
        let known = try #require(try await harness.metadata.device(device.id, organization: "default"))
        #expect(known.beacon?.deviceName == "renamed")
        #expect(known.identity?.hostName == "host-9")
        #expect(known.lastSeen == Harness.now)
    }

    @Test func `The device comes from the credential, never from the body`() async throws {
        let harness = Harness()
        let (first, second) = (try await harness.enrolledDevice(), try await harness.enrolledDevice())
        var events = ChainBuilder(stream: .event)
        let request = [events.events(["a"])].request
        try await harness.route { client in
            for device in [first, second] {
                let answer = try await client.post(WireNames.batchesPath, bearer: device.credential, request).message(
                    WireBatchAnswer.self)
                #expect(answer.parts.map(\.outcome) == [.stored], "the same bytes are another device's own history")
            }
        }
    }

    @Test func `A part whose form is wrong is damaged, and the others are stored`() async throws {
        let harness = Harness()
        let device = try await harness.enrolledDevice()
        var events = ChainBuilder(stream: .event)
        var samples = ChainBuilder(stream: .sample)
        var request = WireBatchRequest()
        request.parts = [events.events(["a"]).wire, samples.part(kind: .sampleSystem, bodies: [Data()]).wire]
        request.parts[0].priorLink = Data([1])
        let body = request.encoded
        try await harness.route { client in
            let answer = try await client.post(WireNames.batchesPath, bearer: device.credential, body)
                .message(WireBatchAnswer.self)
            #expect(answer.parts.map(\.outcome) == [.damaged, .stored])
            #expect(answer.parts[0].detail.contains("prior_link"))
            #expect(answer.parts[0].mark.number == 0)
        }
        #expect(harness.store.storedCount == 1)
    }

    @Test func `A part over its limit is too large unless it is a single record`() async throws {
        let harness = Harness()
        let device = try await harness.enrolledDevice()
        var samples = ChainBuilder(stream: .sample)
        var generator = SystemRandomNumberGenerator()
        let body = Data((0..<WireLimits.partBytes).map { _ in UInt8.random(in: 0...255, using: &generator) })
        let two = samples.part(kind: .sampleCustom, bodies: [body, body])
        try await harness.route { client in
            let answer = try await client.post(WireNames.batchesPath, bearer: device.credential, [two].request)
                .message(WireBatchAnswer.self)
            #expect(answer.parts.map(\.outcome) == [.tooLarge])
            var alone = ChainBuilder(stream: .sample)
            let one = alone.part(kind: .sampleCustom, bodies: [body])
            let second = try await client.post(WireNames.batchesPath, bearer: device.credential, [one].request)
                .message(WireBatchAnswer.self)
            #expect(second.parts.map(\.outcome) == [.stored], "rejected by record, so that the stream goes on")
            #expect(second.parts[0].mark.rejected.map(\.count) == [1])
        }
    }

    @Test func `Requests that mean nothing are refused whole`() async throws {
        let harness = Harness()
        let device = try await harness.enrolledDevice()
        var events = ChainBuilder(stream: .event)
        let part = events.events(["a"])
        var noStream = WireBatchRequest()
        noStream.parts = [part.wire]
        noStream.parts[0].stream = .unspecified
        var noEpoch = WireBatchRequest()
        noEpoch.parts = [part.wire]
        noEpoch.parts[0].epoch = Data()
        var many = WireBatchRequest()
        many.parts = Array(repeating: WireBatchPart(), count: 65)
        let cases: [(Data, Int, String)] = [
            (Data(), 400, "malformed"), (WireBatchRequest().encoded, 400, "malformed"),
            (Data([0x0A]), 400, "malformed"),
            ([part, part].request, 400, "duplicate-part"), (noStream.encoded, 400, "malformed"),
            (noEpoch.encoded, 400, "malformed"),
            (many.encoded, 413, "body-too-large"),
        ]
        try await harness.route { client in
            for (body, status, code) in cases {
                let response = try await client.post(WireNames.batchesPath, bearer: device.credential, body)
                #expect(response.status.code == status)
                #expect(try response.problem.code == code)
            }
        }
        #expect(harness.store.appendCount == 0)
    }

    private static let secretPath = "/var/lib/ws1collector/records/2026-11-21/event.sqlite"

    @Test func `A store that cannot decide is 503 with a time to come back`() async throws {
        let harness = Harness()
        let device = try await harness.enrolledDevice()
        harness.store.fail(StoreError(.io, "no space left on \(Self.secretPath)"))
        var events = ChainBuilder(stream: .event)
        let request = [events.events(["a"])].request
        try await harness.route { client in
            let response = try await client.post(WireNames.batchesPath, bearer: device.credential, request)
            #expect(response.status == .serviceUnavailable)
            let problem = try response.problem
            #expect(problem.code == "store-unavailable")
            #expect(problem.retryable)
            #expect(problem.retryAfterMs ?? 0 > 0)
            #expect(response.headers[.retryAfter].flatMap { Int($0) } ?? 0 > 0)
            let unready = try await client.send(.get, "/readyz")
            #expect(unready.status == .serviceUnavailable)
            #expect(!String(buffer: unready.body).contains(Self.secretPath), "anybody may ask")
            #expect(try await client.send(.get, "/livez").status == .ok)
        }
    }

    @Test func `A full pipeline is 429`() async throws {
        let harness = Harness { $0.budget = IngestBudget(maximumBodies: 0) }
        let device = try await harness.enrolledDevice()
        var events = ChainBuilder(stream: .event)
        let request = [events.events(["a"])].request
        let small = Harness { $0.budget = IngestBudget(maximumBytes: 10) }
        let other = try await small.enrolledDevice()
        for (harness, credential) in [(harness, device.credential), (small, other.credential)] {
            try await harness.route { client in
                let response = try await client.post(WireNames.batchesPath, bearer: credential, request)
                #expect(response.status == .tooManyRequests)
                #expect(try response.problem.retryable)
                #expect(response.headers[.retryAfter] == "1")
            }
        }
    }

    @Test func `Closing an epoch answers all streams and ends it`() async throws {
        let harness = Harness()
        let device = try await harness.enrolledDevice()
        let epoch = EpochID.random()
        var events = ChainBuilder(epoch: epoch, stream: .event)
        let first = [events.events(["a", "b"])].request
        let link = events.link
        let second = [events.events(["c"])].request
        var close = WireCloseRequest()
        close.epoch = epoch.data
        close.streams = [WireStream.status, .event, .sample].map { stream in
            var closing = WireCloseStream()
            closing.stream = stream
            closing.last = stream == .event ? 3 : 0
            closing.reason = .moved
            if stream == .event {
                var point = WireChainPoint()
                point.number = 2
                point.link = link.data
                closing.points = [point]
            }
            return closing
        }
        var partial = close
        partial.streams.removeLast()
        let (whole, incomplete) = (close.encoded, partial.encoded)
        try await harness.route { client in
            _ = try await client.post(WireNames.batchesPath, bearer: device.credential, first)
            #expect(
                try await client.post(WireNames.closePath, bearer: device.credential, incomplete).status == .badRequest)
            let answer = try await client.post(WireNames.closePath, bearer: device.credential, whole).message(
                WireCloseAnswer.self)
            #expect(answer.streams.map(\.stream) == [.status, .event, .sample])
            #expect(answer.streams[1].matched.number == 2)
            #expect(!answer.streams[0].hasMatched)
            let late = try await client.post(WireNames.batchesPath, bearer: device.credential, second).message(
                WireBatchAnswer.self)
            #expect(late.parts.map(\.outcome) == [.closed])
        }
    }
}
