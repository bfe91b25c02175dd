import DeviceTestKit
import DeviceTunables
import Foundation
import SQLite
import Testing
import WireModel

@testable import RecordQueue

@Suite("Ended epochs")
struct EndedEpochTests {
    private func bodies(_ collector: ModelCollector, _ stream: StreamName = .sample) -> [Data] {
        (collector.stored[stream] ?? []).compactMap { record in RecordHeader(scanning: record)?.body(of: record) }
    }

    private func body(_ number: Int) -> Data { Data("\(number)".utf8) }

    private func record(_ fixture: QueueFixture, _ number: Int) -> NewRecord {
        NewRecord(stream: .sample, kind: .sampleSystem, stamp: fixture.clock.now(), body: body(number))
    }

    @Test(arguments: [
        (200, 150, 40), (3000, 2500, 17), (50, 0, 0), (5, 5, 5),
    ])
    func
        `An image of the queue is brought back: only records that the collector lacks are sent, and nothing twice`(
            _ produced: Int, _ arrived: Int, _ again: Int
        ) async throws
    {
        let fixture = try QueueFixture()
        var collector = ModelCollector()
        var queue = try fixture.open("/a")
        for number in 1...produced / 2 { try queue.enqueue(record(fixture, number)) }
        try await queue.flush()
        if let part = try await queue.nextPart(of: .sample, maximumBytes: 1 << 20, maximumRecords: 20, hold: .zero),
            arrived > 20
        {
            #expect(try await queue.apply(collector.post(part)) == .remove)
        }
        // The image has all that was produced so far; the original goes on.
        for number in produced / 2 + 1...produced { try queue.enqueue(record(fixture, number)) }
        try await queue.flush()
        try fixture.copyAsKilled(from: "/a", to: "/b")
        while let part = try await queue.nextPart(of: .sample, maximumBytes: 1 << 20, maximumRecords: 7, hold: .zero),
            part.last <= UInt64(arrived)
        { #expect(try await queue.apply(collector.post(part)) == .remove) }
        for number in 1...3 { try queue.enqueue(record(fixture, 1_000_000 + number)) }
        while arrived == produced,
            let part = try await queue.nextPart(of: .sample, maximumBytes: 1 << 20, maximumRecords: 700, hold: .zero)
        { #expect(try await queue.apply(collector.post(part)) == .remove) }
        await queue.close()

        queue = try fixture.open("/b")
        let former = queue.epoch
        if again > 0 { for number in 1...again { try queue.enqueue(record(fixture, 2_000_000 + number)) } }
        try await queue.flush()
        try await queue.endEpoch(.restored)
        #expect(queue.epoch != former)
        for (stream, balance) in try await queue.balance() { #expect(balance.closes, "\(stream) \(balance)") }
        _ = try await queue.enqueueDurably(record(fixture, 3_000_000))
        let requests = try await collector.closeAll(queue)
        #expect(requests <= 5)
        #expect(try await queue.nextClose() == nil)
        for (stream, balance) in try await queue.balance() { #expect(balance.closes, "\(stream) \(balance)") }
        _ = try await collector.drain(queue)
        let stored = bodies(collector)
        #expect(Set(stored).count == stored.count, "nothing twice")
        var expected = Set((1...produced).map { body($0) }).union([body(3_000_000)])
        if again > 0 { expected.formUnion((1...again).map { body(2_000_000 + $0) }) }
        if arrived == produced { expected.formUnion((1...3).map { body(1_000_000 + $0) }) }
        #expect(Set(stored) == expected, "nothing lost")
        let balance = try #require(try await queue.balance()[.sample])
        #expect(balance.closes && balance.waiting == 0 && balance.stored == UInt64(stored.count))
        #expect(balance.produced == collector.produced(.sample), "both sides count the same")
        let status = try await queue.status()
        #expect(status.ended.map(\.isClosed) == [true] && status.ended[0].epoch == former)
        await queue.close()
        queue = try fixture.open("/b")
        #expect(try await queue.balance()[.sample] == balance)
        await queue.close()
    }

    @Test(arguments: [EpochEnd.wiped, .clone, .unenrolled, .reboundDrop])
    func
        `Wiped, cloned, unenrolled, bound elsewhere: records are dropped with a reason that the collector counts`(
            _ end: EpochEnd
        ) async throws
    {
        let fixture = try QueueFixture()
        var collector = ModelCollector()
        let queue = try fixture.open()
        for number in 1...3000 { try queue.enqueue(record(fixture, number)) }
        let part = try #require(
            try await queue.nextPart(of: .sample, maximumBytes: 1 << 20, maximumRecords: 20, hold: .zero))
        #expect(try await queue.apply(collector.post(part)) == .remove)
        // This one arrives, its answer does not.
        let lost = try #require(
            try await queue.nextPart(of: .sample, maximumBytes: 1 << 20, maximumRecords: 30, hold: .zero))
        #expect(collector.post(lost).outcome == .stored)
        try await queue.endEpoch(end)
        var balance = try #require(try await queue.balance()[.sample])
        let name = end.reason.description
        #expect(balance.closes && balance.waiting == 0 && balance.dropped == [name: 2980])
        #expect(try await collector.closeAll(queue) == 1)
        balance = try #require(try await queue.balance()[.sample])
        #expect(balance.closes && balance.stored == 50 && balance.dropped == [name: 2950] && balance.produced == 3000)
        #expect(collector.post(lost).outcome == .closed)
        try await queue.endEpoch(end)
        #expect(try await queue.nextClose() != nil, "an empty epoch is closed, too")
        await queue.close()
    }

    @Test
    func `Bound elsewhere with what waits: it is queued anew at once, and nothing is to be closed`() async throws {
        let fixture = try QueueFixture()
        let queue = try fixture.open()
        let first = QueueBinding(collector: .random(), organization: "a", device: .random())
        let second = QueueBinding(collector: .random(), organization: "b", device: .random())
        _ = try await queue.bind(to: first)
        for number in 1...300 { try queue.enqueue(record(fixture, number)) }
        try await queue.endEpoch(.reboundSend)
        #expect(try await queue.rebind(to: second) == .bound)
        #expect(try await queue.binding == second)
        #expect(try await queue.nextClose() == nil)
        var collector = ModelCollector()
        _ = try await collector.drain(queue)
        #expect(bodies(collector) == (1...300).map { body($0) })
        let balance = try #require(try await queue.balance()[.sample])
        #expect(balance.closes && balance.dropped == ["moved": 300] && balance.stored == 300 && balance.produced == 600)
        await queue.close()
    }

    @Test
    func
        `Six divergences in a row and one an hour by the queue clock, not the wall clock; the others are not limited`()
        async throws
    {
        let fixture = try QueueFixture()
        var queue = try fixture.open()
        for _ in 1...DivergenceBudget.epochs { try await queue.endEpoch(.restored) }
        fixture.clock.setWallClock(by: .seconds(1_000_000))
        await queue.close()
        queue = try fixture.open()
        let error = await #expect(throws: QueueError.self) { try await queue.endEpoch(.restored) }
        #expect(error?.code == .tooSoon && error?.message.contains("3600 s") == true)
        for end in [EpochEnd.wiped, .clone, .unenrolled, .reboundDrop, .reboundSend] { try await queue.endEpoch(end) }
        fixture.clock.advance(by: .seconds(3600))
        try await queue.endEpoch(.restored)
        await #expect(throws: QueueError.self) { try await queue.endEpoch(.salvaged) }
        await queue.close()
    }

    @Test
    func `Retention removed what could tell: what may be there counts as unverifiable, what cannot be there is sent`()
        async throws
    {
        let fixture = try QueueFixture()
        var collector = ModelCollector()
        var queue = try fixture.open("/a")
        for number in 1...40 { try queue.enqueue(record(fixture, number)) }
        try await queue.flush()
        try fixture.copyAsKilled(from: "/a", to: "/b")
        for number in 41...50 { try queue.enqueue(record(fixture, number)) }
        _ = try await collector.drain(queue)
        await queue.close()
        collector.removedUpTo = 60
        queue = try fixture.open("/b")
        for number in 1...30 { try queue.enqueue(record(fixture, 100 + number)) }
        try await queue.flush()
        try await queue.endEpoch(.restored)
        #expect(try await collector.closeAll(queue) == 2, "the newest numbers are asked once more")
        let balance = try #require(try await queue.balance()[.sample])
        #expect(
            balance.closes && balance.dropped["unverifiable"] == 50 && balance.dropped["moved"] == 20
                && balance.waiting == 20)
        _ = try await collector.drain(queue)
        let stored = bodies(collector)
        #expect(Set(stored).count == stored.count && stored.contains(body(130)) && !stored.contains(body(105)))
        await queue.close()
    }

    @Test
    func `Killed at any step of ending, closing and moving, the rest is done after the next start, once`() async throws
    {
        let fixture = try QueueFixture()
        var collector = ModelCollector()
        let store = try QueueStore(
            directory: fixture.directory, configuration: QueueFixture.configuration(), clock: fixture.clock,
            logger: fixture.logger)
        var image = 0
        func snapshot() throws {
            image += 1
            try fixture.copyAsKilled(from: "", to: "/\(image)")
        }
        _ = try store.append((1...4000).map { record(fixture, $0) })
        let part = try #require(
            try store.nextPart(of: .sample, maximumBytes: 1 << 20, maximumRecords: 700, hold: .zero))
        #expect(collector.post(part).outcome == .stored)
        _ = try store.drop(oldest: 100, bytes: .max, of: .sample, reason: .byteCap, keepAside: false)
        try snapshot()
        try store.endEpoch(.restored)
        try snapshot()
        let before = collector
        while let request = try store.nextClose() {
            _ = try store.applyClose(try collector.close(request))
            try snapshot()
        }
        while try store.advanceEnded() { try snapshot() }
        #expect(image > 6)
        try store.close()
        for number in 1...image {
            var collector = number == 1 ? before : collector
            let queue = try fixture.open("/\(number)")
            if number == 1 { try await queue.endEpoch(.restored) }
            _ = try await collector.closeAll(queue)
            _ = try await collector.drain(queue)
            _ = try await collector.drain(queue)
            let stored = bodies(collector)
            #expect(Set(stored).count == stored.count && stored.count == 4000, "image \(number): \(stored.count)")
            let balance = try #require(try await queue.balance()[.sample])
            #expect(balance.closes && balance.waiting == 0 && balance.stored == 4000, "image \(number): \(balance)")
            await queue.close()
        }
    }

    @Test
    func `An answer for another epoch, about a point that was not offered, or without all streams changes nothing`()
        async throws
    {
        let fixture = try QueueFixture()
        let queue = try fixture.open()
        for number in 1...10 { try queue.enqueue(record(fixture, number)) }
        try await queue.flush()
        try await queue.endEpoch(.restored)
        let request = try #require(try await queue.nextClose())
        var collector = ModelCollector()
        var answer = try collector.close(request)
        answer.epoch = EpochID.random().data
        #expect(try await queue.applyClose(answer) == .again)
        answer.epoch = request.epoch
        answer.streams[2].matched.number = 5
        answer.streams[2].matched.link = ChainLink(high: 1, low: 2).data
        let bad = answer
        await #expect(throws: QueueError.self) { try await queue.applyClose(bad) }
        answer.streams.removeLast()
        let short = answer
        await #expect(throws: QueueError.self) { try await queue.applyClose(short) }
        #expect(try await queue.nextClose() == request)
        #expect(try await queue.balance()[.sample]?.waiting == 10)
        await queue.close()
    }

    @Test
    func `A backlog is set apart by a transaction of a few pages, whatever waits`() throws {
        let fixture = try QueueFixture()
        let store = try fixture.store()
        for _ in 1...20 { _ = try store.append((1...1000).map { _ in fixture.record(bytes: 500) }) }
        let before = store.connection.pagesWritten
        try store.endEpoch(.restored)
        #expect(store.connection.pagesWritten - before <= 16)
        try store.close()
        let again = try fixture.store()
        #expect(again.state.ended.first?.streams[.sample].rowCount == 20000 && again.state[.sample].rowCount == 0)
        try again.close()
    }

    @Test
    func `Ended epochs nobody closes are bounded, and still counted`() async throws {
        let fixture = try QueueFixture()
        let queue = try fixture.open()
        for _ in 1...Tunables.Queue.closingEpochs + 5 {
            _ = try await queue.enqueueDurably(record(fixture, 1))
            fixture.clock.advance(by: .seconds(3600))
            try await queue.endEpoch(.restored)
        }
        let balance = try #require(try await queue.balance()[.sample])
        #expect(
            balance.closes && balance.dropped == ["unverifiable": 5]
                && balance.waiting == UInt64(Tunables.Queue.closingEpochs))
        #expect(try await queue.status().ended.filter { !$0.isClosed }.count == Tunables.Queue.closingEpochs)
        await queue.close()
    }
}
