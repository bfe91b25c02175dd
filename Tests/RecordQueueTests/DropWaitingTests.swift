import Foundation
import Testing
import WireModel

@testable import RecordQueue

@Suite("What waits, given up by a decision")
struct DropWaitingTests {
    private func fill(_ queue: RecordQueue, _ fixture: QueueFixture, _ bytes: ClosedRange<UInt8>) throws {
        for byte in bytes {
            for stream in StreamName.allCases { try queue.enqueue(fixture.record(stream, byte: byte)) }
        }
    }

    private static func bodies(_ collector: ModelCollector, _ stream: StreamName) -> [UInt8?] {
        (collector.stored[stream] ?? []).map { RecordHeader(scanning: $0)?.body(of: $0).first }
    }

    @Test
    func
        `It leaves its streams with its reason and the collector hears of it; what was sent stays, and so does status`()
        async throws
    {
        let fixture = try QueueFixture()
        let queue = try fixture.open()
        try fill(queue, fixture, 1...10)
        var collector = ModelCollector()
        _ = try await collector.drain(queue)
        try fill(queue, fixture, 11...30)
        // What is still in the writer's memory waits, too.
        #expect(try await queue.dropWaiting(of: [.event, .sample], reason: .consent) == 40)
        #expect(try await queue.dropWaiting(of: [.event, .sample], reason: .consent) == 0)
        _ = try await queue.enqueueDurably(fixture.record(.sample, byte: 99))
        _ = try await collector.drain(queue)
        for (stream, bodies) in [
            (.status, Array(1...30)), (.event, Array(1...10)), (.sample, Array(1...10) + [99]),
        ] as [(StreamName, [UInt8])] {
            #expect(Self.bodies(collector, stream) == bodies)
            let balance = try #require(try await queue.balance()[stream])
            #expect(balance.closes && balance.dropped == (stream == .status ? [:] : ["consent": 20]))
        }
        await queue.close()
    }

    @Test
    func `Nothing of it comes back from an epoch that has ended, whether that is closed before or after`() async throws
    {
        for closesBefore in [true, false] {
            let fixture = try QueueFixture()
            var queue = try fixture.open()
            var collector = ModelCollector()
            try fill(queue, fixture, 1...5)
            _ = try await collector.drain(queue)
            try fill(queue, fixture, 6...9)
            try await queue.endEpoch(.restored)
            try fill(queue, fixture, 10...12)
            try await queue.flush()
            if closesBefore {
                let request = try #require(try await queue.nextClose())
                // The answer is applied, and the program killed before anything moves.
                let answer = try collector.close(request)
                _ = try await queue.run { try $0.applyClose(answer) }
                try fixture.copyAsKilled(from: "", to: "/killed")
                await queue.close()
                queue = try fixture.open("/killed")
            }
            #expect(try await queue.dropWaiting(of: [.event, .sample], reason: .consent) > 0)
            _ = try await collector.closeAll(queue)
            _ = try await collector.drain(queue)
            #expect(Self.bodies(collector, .event) == Array(1...5))
            #expect(Self.bodies(collector, .status).count == 12)
            let balance = try #require(try await queue.balance()[.event])
            #expect(balance.closes && balance.stored == 5 && balance.waiting == 0, "\(balance)")
            #expect(balance.dropped["consent"] == 7, "\(balance)")
            await queue.close()
        }
    }

    @Test
    func `Records that waited in an image of the disk are stored once, though both branches of the history sent them`()
        async throws
    {
        for sentMore in [false, true] {
            let fixture = try QueueFixture()
            var queue = try fixture.open()
            // Nobody has decided: the stream is not asked for.
            try fill(queue, fixture, 1...20)
            try await queue.flush()
            try fixture.copyAsKilled(from: "", to: "/image")
            // Consent is given.
            var collector = ModelCollector()
            if sentMore { try fill(queue, fixture, 21...23) }
            _ = try await collector.drain(queue)
            await queue.close()
            // The image is brought back, and consent is given there as well.
            queue = try fixture.open("/image")
            try fill(queue, fixture, 31...35)
            while let part = try await queue.nextPart(
                of: .event, maximumBytes: 1 << 20, maximumRecords: 100, hold: .zero)
            {
                if case .diverged = try await queue.apply(collector.post(part)) { break }
            }
            if try await queue.status().divergence != nil { try await queue.endEpoch(.restored) }
            _ = try await collector.closeAll(queue)
            _ = try await collector.drain(queue)
            let bodies = Self.bodies(collector, .event)
            #expect(bodies == Array(1...20) + (sentMore ? Array(21...23) : []) + Array(31...35))
            #expect(try await queue.balance()[.event]?.closes == true)
            await queue.close()
        }
    }

    @Test
    func `Counts of what was refused elsewhere are written with the next commit`() async throws {
        let fixture = try QueueFixture()
        var queue = try fixture.open()
        queue.countDropped(.consent, of: .sample)
        queue.countDropped(.disabled, of: .sample, 4)
        try await queue.flush()
        await queue.close()
        queue = try fixture.open()
        let balance = try #require(try await queue.balance()[.sample])
        #expect(balance.closes && balance.dropped == ["consent": 1, "disabled": 4] && balance.produced == 5)
        await queue.close()
    }
}
