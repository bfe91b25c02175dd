import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import StoreTestKit
import Testing
import WireModel

@testable import Collector

@Suite("What a device claims to have produced")
struct ProductionBoundTests {
    private static let second: Int64 = 1_000_000

    @Test(
        arguments: [
            (0, 0, 1 << 32), (0, 10 * second, 1 << 32 + 100_000), (0, second / 2, 1 << 32),
            // The collector's clock is behind where it was.
            (10 * second, 0, 1 << 32), (.max, .min, 1 << 32),
            // As far as time goes.
            (0, .max, 1 << 32 + 92_233_720_368_540_000),
        ] as [(Int64, Int64, UInt64)])
    func `The limit grows with the time since the enrollment`(created: Int64, now: Int64, expected: UInt64) {
        #expect(ProductionBound(created: created, now: now).records == expected)
    }

    /// A year offline, 2,000 records a second all the time, its queue full since the first hour.
    @Test func `A long-offline device that recorded a lot is not refused`() throws {
        let year: Int64 = 366 * 86_400
        let last = UInt64(year) * 2000
        let totals = StreamTotals(produced: last, waiting: 100_000, dropped: [.byteCap: last - 100_000])
        let part = BatchPart(
            epoch: .random(), stream: .event, first: 1, last: last, priorLink: .zero, lastLink: .zero, totals: totals,
            records: [])
        try ProductionBound(created: 0, now: year * Self.second).check([part])
        // And one that recorded for a year before it could enroll.
        try ProductionBound(created: 0, now: 0).check([
            BatchPart(
                epoch: .random(), stream: .event, first: 1, last: UInt64(year) * 100, priorLink: .zero, lastLink: .zero,
                records: [])
        ])
    }

    private static func close(_ epoch: EpochID, last: UInt64, totals: StreamTotals? = nil) -> Data {
        var request = WireCloseRequest()
        request.epoch = epoch.data
        request.streams = StreamName.allCases.map { stream in
            var close = WireCloseStream()
            close.stream = stream.wire
            (close.last, close.reason) = (stream == .event ? last : 0, .moved)
            if let totals, stream == .event { close.totals = totals.wire }
            return close
        }
        return request.encoded
    }

    @Test(arguments: [1 << 62, 1 << 40, 1 << 32 + 1] as [UInt64])
    func `A close of more than can be is refused for a while and changes nothing`(last: UInt64) async throws {
        let harness = Harness()
        let device = try await harness.enrolledDevice()
        var events = ChainBuilder(stream: .event)
        let (part, second, epoch) = (events.events(["a"]), events.events(["b"]), events.epoch)
        try await harness.route { client in
            _ = try await client.post(WireNames.batchesPath, bearer: device.credential, [part].request)
            func close(_ body: Data) async throws -> TestResponse {
                try await client.post(WireNames.closePath, bearer: device.credential, body)
            }
            let refused = try await close(Self.close(epoch, last: last))
            try refused.expect(429, "production-implausible")
            let problem = try refused.problem
            #expect(problem.retryable && problem.retryAfterMs == 3_600_000 && problem.scope == .device)
            #expect(problem.detail?.contains("\(last)") == true && problem.detail?.contains("event") == true)
            try await close(Self.close(epoch, last: 5, totals: StreamTotals(droppedUnnumbered: [.byteCap: last])))
                .expect(429, "production-implausible")
            // The epoch is still open, and an honest close goes through.
            let more = try await client.post(WireNames.batchesPath, bearer: device.credential, [second].request)
            #expect(try more.message(WireBatchAnswer.self).parts[0].outcome == .stored)
            #expect(try await close(Self.close(epoch, last: 5)).status == .ok)
        }
    }

    @Test func `Parts and their totals are bounded, too`() async throws {
        let harness = Harness()
        let device = try await harness.enrolledDevice()
        var events = ChainBuilder(stream: .event)
        let honest = events.events(["a"])
        let huge: UInt64 = 1 << 33
        var claims: [(String, BatchPart)] = []
        var gap = honest
        gap.gaps = [Gap(first: 2, last: huge, reason: .byteCap, link: gap.lastLink)]
        gap.last = huge
        claims.append(("a gap", gap))
        for (name, change) in [
            ("produced", { $0.produced = huge }), ("waiting", { $0.waiting = huge }), ("apart", { $0.apart = huge }),
            ("dropped", { $0.dropped = [.byteCap: huge] }),
            ("dropped in many ways", { $0.dropped = [.byteCap: .max, .rowCap: .max] }),
            ("dropped without a number", { $0.droppedUnnumbered = [.byteCap: huge] }),
        ] as [(String, (inout StreamTotals) -> Void)] {
            var part = honest
            change(&part.totals)
            claims.append((name, part))
        }
        let parts = claims
        try await harness.route { client in
            for (name, part) in parts {
                let answer = try await client.post(WireNames.batchesPath, bearer: device.credential, [part].request)
                #expect(answer.status.code == 429, "\(name): \(String(buffer: answer.body))")
            }
            let answer = try await client.post(WireNames.batchesPath, bearer: device.credential, [honest].request)
            #expect(answer.status == .ok)
        }
        #expect(harness.store.storedCount == 1)
    }
}
