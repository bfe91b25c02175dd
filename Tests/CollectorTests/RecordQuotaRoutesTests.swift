import CollectorAPI
import Foundation
import HTTPTypes
import HummingbirdTesting
import Registry
import Testing
import WireModel

@testable import Collector

@Suite("A device over its quota of records")
struct RecordQuotaRoutesTests {
    private func quotas(device: Int, organization: Int? = nil) -> RecordQuotas {
        var quotas = RecordQuotas()
        (quotas.deviceBytes, quotas.organizationBytes) = (device, organization)
        return quotas
    }

    @Test func `It is refused before its body is read, and its records come the next day`() async throws {
        let harness = try MetadataHarness()
        let (device, other) = (try await harness.device(), try await harness.device())
        var events = ChainBuilder(stream: .event)
        var others = ChainBuilder(stream: .event)
        let (first, second, third) = (events.events(["a"]), events.events(["b"]), others.events(["c"]))
        harness.metadata.setRecordQuotas(quotas(device: first.quotaBytes))
        try await harness.route { client in
            func send(_ part: BatchPart, _ device: EnrollResult) async throws -> TestResponse {
                try await client.post(WireNames.batchesPath, bearer: device.credential, [part].request)
            }
            func stored(_ response: TestResponse) throws -> Bool {
                try response.message(WireBatchAnswer.self).parts[0].outcome == .stored
            }
            #expect(try stored(try await send(first, device)))
            let refused = try await send(second, device)
            try refused.expect(429, Problem.Code.recordQuotaExceeded.rawValue)
            let problem = try refused.problem
            #expect(problem.retryable && problem.scope == .device && problem.limit == first.quotaBytes)
            #expect(refused.headers[.retryAfter] == "900")
            // A body that nobody could read is not even looked at.
            try await client.post(
                WireNames.batchesPath, bearer: device.credential, Data([0xFF]), gzip: false
            ).expect(429, Problem.Code.recordQuotaExceeded.rawValue)
            // The harness enrolls both devices on one machine, which is a notice of its own.
            let notices = try await client.json("/api/v1/notices", bearer: harness.administrator).objects("items")
                .filter { $0.text("code") != "device-replaced" }
            #expect(Set(notices.compactMap { $0.text("code") }) == ["record-quota-75", "record-quota-100"])
            #expect(notices.allSatisfy { $0.text("subject") == "\(device.deviceID)" })
            // Another device goes on, and this one still gets its commands.
            #expect(try stored(try await send(third, other)))
            #expect(try await client.send(.get, WireNames.commandsPath, bearer: device.credential).status == .ok)
            harness.clock.advance(seconds: 86_400)
            #expect(try stored(try await send(second, device)))
        }
    }

    @Test func `What it sends again is not counted again`() async throws {
        let harness = try MetadataHarness()
        let device = try await harness.device()
        var events = ChainBuilder(stream: .event)
        let (first, second) = (events.events(["a"]), events.events(["b"]))
        harness.metadata.setRecordQuotas(quotas(device: first.quotaBytes + 1))
        try await harness.route { client in
            for part in [first, first, first, second] {
                let answer = try await client.post(WireNames.batchesPath, bearer: device.credential, [part].request)
                #expect(answer.status == .ok)
            }
            try await client.post(WireNames.batchesPath, bearer: device.credential, [first].request)
                .expect(429, Problem.Code.recordQuotaExceeded.rawValue)
        }
    }

    @Test func `An organization that is over its quota does not stop another`() async throws {
        let harness = Harness()
        let (first, second) = (try await harness.enrolledDevice(), try await harness.enrolledDevice())
        let stranger = try await harness.enrolledDevice("other")
        harness.metadata.setRecordQuotas(quotas(device: 1_000_000, organization: 300))
        try await harness.route { client in
            func send(_ credential: String) async throws -> TestResponse {
                var events = ChainBuilder(stream: .event)
                return try await client.post(
                    WireNames.batchesPath, bearer: credential, [events.events(["a", "b"])].request)
            }
            #expect(try await send(first.credential).status == .ok)
            let refused = try await send(second.credential)
            try refused.expect(429, Problem.Code.recordQuotaExceeded.rawValue)
            #expect(try refused.problem.detail?.contains("organization") == true)
            #expect(try await send(stranger.credential).status == .ok)
        }
    }

    @Test func `Epochs without end are refused in batches and closes, and the known ones go on`() async throws {
        let harness = try MetadataHarness()
        let device = try await harness.device()
        var limits = RecordQuotas()
        limits.deviceEpochs = 2
        harness.metadata.setRecordQuotas(limits)
        try await harness.route { client in
            func send(_ part: BatchPart) async throws -> TestResponse {
                try await client.post(WireNames.batchesPath, bearer: device.credential, [part].request)
            }
            func close(_ epoch: EpochID) async throws -> TestResponse {
                var request = WireCloseRequest()
                request.epoch = epoch.data
                request.streams = StreamName.allCases.map { stream in
                    var close = WireCloseStream()
                    (close.stream, close.last, close.reason) = (stream.wire, 0, .wiped)
                    return close
                }
                return try await client.post(WireNames.closePath, bearer: device.credential, request.encoded)
            }
            var first = ChainBuilder(stream: .event)
            var third = ChainBuilder(stream: .event)
            #expect(try await send(first.events(["a"])).status == .ok)
            #expect(try await close(.random()).status == .ok)
            let kept = third.events(["b"])
            let refused = try await send(kept)
            try refused.expect(429, Problem.Code.tooManyEpochs.rawValue)
            #expect(try refused.problem.retryable && refused.headers[.retryAfter] == "900")
            try await close(.random()).expect(429, Problem.Code.tooManyEpochs.rawValue)
            #expect(try await send(first.events(["c"])).status == .ok)
            #expect(try await close(first.epoch).status == .ok)
            // The device kept the record, and sends it the next day.
            harness.clock.advance(seconds: 86_400)
            #expect(try await send(kept).message(WireBatchAnswer.self).parts[0].outcome == .stored)
        }
    }
}
