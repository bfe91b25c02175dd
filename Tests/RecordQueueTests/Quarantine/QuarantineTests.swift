import Foundation
import Testing
import WireModel

@testable import RecordQueue

@Suite("Records that are quarantined")
struct QuarantineTests {
    private func events(
        _ count: Int, _ fixture: QueueFixture, _ queue: RecordQueue, from first: Int = 1, bytes: Int = 100
    ) async throws {
        for number in first..<(first + count) {
            try queue.enqueue(fixture.record(.event, bytes: bytes, byte: UInt8(number)))
        }
        try await queue.flush()
    }

    @discardableResult
    private func quarantine(_ queue: RecordQueue) async throws -> Gap? {
        try await queue.drop(oldest: 1, of: .event, reason: .quarantined, keepAside: true)
    }

    private func part(_ queue: RecordQueue, records: Int = 100) async throws -> BatchPart {
        try #require(try await queue.nextPart(of: .event, maximumBytes: 1 << 20, maximumRecords: records, hold: .zero))
    }

    private func fates(_ queue: RecordQueue) async throws -> [String] {
        try await queue.inspect().quarantine.compactMap(\.fate)
    }

    /// The byte that each stored event is made of.
    private func bodies(_ collector: ModelCollector) -> [Int] {
        (collector.stored[.event] ?? []).compactMap { record in
            RecordHeader(scanning: record).flatMap { $0.body(of: record).last.map(Int.init) }
        }
    }

    @Test
    func
        `Are sent again under a new number once the collector has said that it lacks them, and the balance closes`()
        async throws
    {
        let fixture = try QueueFixture()
        var queue = try fixture.open()
        var collector = ModelCollector()
        try await events(10, fixture, queue)
        #expect(try await queue.apply(collector.post(part(queue, records: 2))) == .remove)
        try await quarantine(queue)
        let early = try await queue.retry()
        #expect(early.records.map(\.outcome) == [.open] && early.records.map(\.number) == [3], "it may have arrived")
        _ = try await collector.drain(queue)
        #expect(try await fates(queue) == ["not-stored"])
        await queue.close()
        queue = try fixture.open()
        let retry = try await queue.retry()
        #expect(retry.records.map(\.outcome) == [.queued] && retry.records.map(\.newNumber) == [11])
        #expect(try await queue.status().quarantinedRecords == 0)
        let waiting = try #require(try await queue.balance()[.event])
        #expect(
            waiting.closes && waiting.produced == 11 && waiting.waiting == 1 && waiting.dropped == ["quarantined": 1])
        #expect(try await queue.retry() == QueueRetry(records: [], unknown: []), "once")
        _ = try await collector.drain(queue)
        #expect(bodies(collector).sorted() == Array(1...10))
        let balance = try #require(try await queue.balance()[.event])
        #expect(
            balance.closes && balance.produced == 11 && balance.stored == 10 && balance.dropped == ["quarantined": 1])
        #expect(try await queue.verify().isWhole)
        await queue.close()
    }

    @Test
    func `Are gone with what waits when nobody wants the stream to be sent any more`() async throws {
        let fixture = try QueueFixture()
        let queue = try fixture.open()
        var collector = ModelCollector()
        try await events(3, fixture, queue)
        try await quarantine(queue)
        _ = try await collector.drain(queue)
        #expect(try await fates(queue) == ["not-stored"])
        #expect(try await queue.dropWaiting(of: [.sample], reason: .consent) == 0)
        #expect(try await fates(queue) == ["not-stored"], "another stream's")
        #expect(try await queue.dropWaiting(of: [.event], reason: .consent) == 0)
        #expect(try await queue.retry(includingUncertain: true) == QueueRetry(records: [], unknown: []))
        let balance = try #require(try await queue.balance()[.event])
        #expect(balance.closes && balance.dropped == ["quarantined": 1], "counted once")
        await queue.close()
    }

    @Test
    func `Are no longer quarantined, and not sent again, where they had arrived after all`() async throws {
        let fixture = try QueueFixture()
        let queue = try fixture.open()
        var collector = ModelCollector()
        try await events(5, fixture, queue)
        // Stored, and something on the way back answers 413.
        _ = collector.post(try await part(queue, records: 3))
        try await quarantine(queue)
        _ = try await collector.drain(queue)
        #expect(try await queue.status().quarantinedRecords == 0)
        #expect(bodies(collector).sorted() == Array(1...5))
        let balance = try #require(try await queue.balance()[.event])
        #expect(balance.closes && balance.stored == 5 && balance.dropped.isEmpty)
        await queue.close()
    }

    @Test
    func `Are uncertain where the counts do not say which of several arrived, and then sent only if that is asked for`()
        async throws
    {
        let fixture = try QueueFixture()
        let queue = try fixture.open()
        var collector = ModelCollector()
        try await events(3, fixture, queue)
        try await quarantine(queue)
        // The first is counted as dropped, the second stored; the answer is lost, and the second is quarantined, too.
        _ = collector.post(try await part(queue, records: 1))
        try await quarantine(queue)
        _ = try await collector.drain(queue)
        #expect(try await fates(queue) == ["uncertain", "uncertain"])
        let ids = try await queue.inspect().quarantine.map(\.id)
        #expect(try await queue.retry().records.map(\.outcome) == [.uncertain, .uncertain])
        let one = try await queue.retry([ids[0], 99], includingUncertain: true)
        #expect(one.records.map(\.outcome) == [.queued] && one.unknown == [99])
        _ = try await collector.drain(queue)
        #expect(bodies(collector).sorted() == [1, 2, 3])
        #expect(try await queue.balance()[.event]?.closes == true)
        await queue.close()
    }

    @Test(arguments: [
        (
            mark: StreamMark(number: 4, link: .zero, stored: 2, dropped: [.quarantined: 2]),
            QuarantineVerdict.notStored
        ),
        (mark: StreamMark(number: 4, link: .zero, stored: 4), .arrived),
        (mark: StreamMark(number: 4, link: .zero, stored: 3, dropped: [.quarantined: 1]), .uncertain),
        (mark: StreamMark(number: 4, link: .zero, stored: 2, lostAtCollector: 2), .uncertain),
        (
            mark: StreamMark(number: 4, link: .zero, stored: 1, dropped: [.quarantined: 2], lostAtCollector: 1),
            .uncertain
        ),
        (mark: StreamMark(number: 4, link: .zero, stored: 2, rejected: [.recordTooLarge: 2]), .arrived),
    ])
    func `A mark's growth says what became of them`(_ mark: StreamMark, _ expected: QuarantineVerdict) {
        var ledger = StreamLedger()
        ledger.last = 6
        ledger.gaps = [
            Gap(first: 1, last: 2, reason: .quarantined, link: .zero),
            Gap(first: 3, last: 3, reason: .byteCap, link: .zero),
        ]
        #expect(ledger.verdictOnQuarantine(mark) == expected)
        ledger.gaps.removeFirst()
        #expect(ledger.verdictOnQuarantine(mark) == nil)
    }

    @Test
    func `A kill leaves each of them quarantined or queued, never both and never neither`() async throws {
        let fixture = try QueueFixture()
        // Acknowledgements are committed at once.
        let queue = try fixture.open("/a", QueueFixture.configuration { $0.lossWindow = .zero })
        var collector = ModelCollector()
        try await events(8, fixture, queue)
        for _ in 1...4 { try await quarantine(queue) }
        _ = try await collector.drain(queue)
        try fixture.copyAsKilled(from: "/a", to: "/b")
        #expect(try await queue.retry().records.allSatisfy { $0.outcome == .queued })
        try fixture.copyAsKilled(from: "/a", to: "/c")
        await queue.close()
        for (directory, aside) in [("/b", UInt64(4)), ("/c", 0)] {
            let image = try fixture.open(directory)
            let status = try await image.status()
            #expect(status.quarantinedRecords == aside && status.streams[.event]?.waiting == 4 - aside)
            var branch = collector
            _ = try await image.retry()
            _ = try await branch.drain(image)
            #expect(bodies(branch).sorted() == Array(1...8))
            #expect(try await image.balance()[.event]?.closes == true)
            await image.close()
        }
    }

    @Test(arguments: EpochEnd.allCases.filter { $0 != .salvaged })
    func `The end of an epoch decides on them as on what waits`(_ end: EpochEnd) async throws {
        let fixture = try QueueFixture()
        let queue = try fixture.open()
        var collector = ModelCollector()
        try await events(5, fixture, queue)
        try await quarantine(queue)
        _ = try await collector.drain(queue)
        try await events(2, fixture, queue, from: 6)
        try await quarantine(queue)
        #expect(try await fates(queue) == ["not-stored", "open"])
        try await queue.endEpoch(end)
        switch end {
        case .restored:
            #expect(try await fates(queue) == ["uncertain", "uncertain"], "a branch that is gone may have sent them")
        case .reboundSend: #expect(try await fates(queue) == ["not-stored", "not-stored"])
        case .givenUp: #expect(try await fates(queue) == ["not-stored", "uncertain"], "what is known stays known")
        default: #expect(try await fates(queue).isEmpty, "given up, with what waits")
        }
        await queue.close()
    }

    @Test
    func `A full queue refuses them, and evicts nothing for them`() async throws {
        let fixture = try QueueFixture()
        let queue = try fixture.open("", QueueFixture.configuration { $0.maximumBytes = 1 << 20 })
        var collector = ModelCollector()
        try await events(2, fixture, queue, bytes: 100_000)
        try await quarantine(queue)
        _ = try await collector.drain(queue)
        for round in 1...20 { try await events(100, fixture, queue, from: round, bytes: 1000) }
        let before = try await queue.balance()
        let error = await #expect(throws: QueueError.self) { _ = try await queue.retry() }
        #expect(error?.code == .capReached)
        #expect(try await queue.balance() == before)
        #expect(try await fates(queue) == ["not-stored"])
        _ = try await collector.drain(queue)
        #expect(try await queue.retry().records.map(\.outcome) == [.queued])
        await queue.close()
    }

    @Test
    func `The largest record is quarantined in a queue at its cap: it finds room in the pages that it leaves`()
        async throws
    {
        let fixture = try QueueFixture()
        let queue = try fixture.open("", QueueFixture.configuration { $0.maximumBytes = 1 << 20 })
        try await events(1, fixture, queue, bytes: WireLimits.recordBytes - 200)
        while try await queue.balance()[.sample]?.dropped["byte-cap"] == nil {
            for _ in 1...50 { try queue.enqueue(fixture.record(.sample, bytes: 1000)) }
            try await queue.flush()
        }
        try await quarantine(queue)
        #expect(try await queue.status().quarantinedRecords == 1)
        #expect(try await queue.verify().isWhole)
        await queue.close()
    }

    @Test
    func `There is a bound on them, and the oldest are given up`() async throws {
        let fixture = try QueueFixture()
        let queue = try fixture.open("", QueueFixture.configuration { $0.quarantineRecords = 2 })
        try await events(4, fixture, queue)
        for _ in 1...3 { try await quarantine(queue) }
        #expect(try await queue.inspect().quarantine.map(\.number) == [2, 3])
        #expect(try await queue.balance()[.event]?.dropped == ["quarantined": 3])
        await queue.close()
    }
}
