import Foundation
import Testing
import WireModel

@testable import RecordQueue

@Suite("Record queue")
struct RecordQueueTests {
    @Test
    func `What is queued is sent in order, acknowledged by the mark, and leaves`() async throws {
        let fixture = try QueueFixture()
        let queue = try fixture.open()
        for byte in 1...5 { try queue.enqueue(fixture.record(byte: UInt8(byte))) }
        let number = try await queue.enqueueDurably(fixture.record(byte: 6))
        #expect(number == 6)

        let part = try #require(
            try await queue.nextPart(of: .sample, maximumBytes: 1 << 20, maximumRecords: 100, hold: .zero))
        #expect(part.epoch == queue.epoch)
        #expect(part.first == 1 && part.last == 6 && part.records.count == 6 && part.gaps.isEmpty)
        #expect(part.totals.produced == 6 && part.totals.waiting == 6)
        for (index, record) in part.records.enumerated() {
            let header = try #require(RecordHeader(scanning: record))
            #expect(header.number == UInt64(index + 1))
            #expect(header.body(of: record) == Data(repeating: UInt8(index + 1), count: 100))
        }

        var collector = ModelCollector()
        let answer = collector.post(part)
        #expect(answer.outcome == .stored)
        #expect(try await queue.apply(answer) == .remove)
        #expect(try await queue.apply(answer) == .old)
        #expect(try await queue.nextPart(of: .sample, maximumBytes: 1 << 20, maximumRecords: 100, hold: .zero) == nil)
        let balance = try #require(try await queue.balance()[.sample])
        #expect(balance.closes && balance.produced == 6 && balance.stored == 6 && balance.waiting == 0)
        await queue.close()
    }

    @Test
    func `A part keeps to its bytes and records, but always has one`() async throws {
        let fixture = try QueueFixture()
        let queue = try fixture.open()
        for _ in 1...10 { try queue.enqueue(fixture.record(bytes: 1000)) }
        let tiny = try #require(
            try await queue.nextPart(of: .sample, maximumBytes: 1, maximumRecords: 100, hold: .zero))
        #expect(tiny.records.count == 1)
        let bytes = try #require(
            try await queue.nextPart(of: .sample, maximumBytes: 3200, maximumRecords: 100, hold: .zero))
        #expect(bytes.records.count == 3)
        let rows = try #require(
            try await queue.nextPart(of: .sample, maximumBytes: 1 << 20, maximumRecords: 4, hold: .zero))
        #expect(rows.records.count == 4)
        await queue.close()
    }

    @Test
    func `What was committed is there after closing and opening, with the same epoch and numbers going on`()
        async throws
    {
        let fixture = try QueueFixture()
        var queue = try fixture.open()
        let epoch = queue.epoch
        try queue.enqueue(fixture.record(.event))
        await queue.close()
        queue = try fixture.open()
        #expect(queue.epoch == epoch)
        #expect(try await queue.enqueueDurably(fixture.record(.event)) == 2)
        var collector = ModelCollector()
        #expect(try await collector.drain(queue) == 1)
        #expect(collector.stored[.event]?.count == 2)
        await queue.close()
        await #expect(throws: QueueError.self) { try await queue.flush() }
    }

    @Test
    func `Dropping at the front leaves gaps that merge by reason, are sent first, and alone too`() async throws {
        let fixture = try QueueFixture()
        let queue = try fixture.open()
        for _ in 1...10 { try queue.enqueue(fixture.record()) }
        try await queue.flush()
        #expect(
            try await queue.drop(oldest: 2, of: .sample, reason: .byteCap, keepAside: false).map { $0.first...$0.last }
                == 1...2)
        #expect(
            try await queue.drop(oldest: 1, of: .sample, reason: .byteCap, keepAside: false).map { $0.first...$0.last }
                == 3...3)
        #expect(
            try await queue.drop(oldest: 1, of: .sample, reason: .quarantined, keepAside: true).map {
                $0.first...$0.last
            } == 4...4)
        let part = try #require(
            try await queue.nextPart(of: .sample, maximumBytes: 1 << 20, maximumRecords: 2, hold: .zero))
        #expect(part.gaps.map(\.reason) == [.byteCap, .quarantined])
        #expect(part.gaps.map(\.last) == [3, 4])
        #expect(part.first == 1 && part.last == 6 && part.records.count == 2)
        #expect(part.totals.dropped == [.byteCap: 3, .quarantined: 1])

        var collector = ModelCollector()
        #expect(try await queue.apply(collector.post(part)) == .remove)
        #expect(
            try await queue.drop(oldest: 100, of: .sample, reason: .ageCap, keepAside: false).map { $0.first...$0.last }
                == 7...10)
        #expect(try await queue.drop(oldest: 1, of: .sample, reason: .ageCap, keepAside: false) == nil)
        let alone = try #require(
            try await queue.nextPart(of: .sample, maximumBytes: 1 << 20, maximumRecords: 2, hold: .zero))
        #expect(alone.gaps.count == 1 && alone.records.isEmpty && alone.last == 10)
        #expect(try await queue.apply(collector.post(alone)) == .remove)

        let balance = try #require(try await queue.balance()[.sample])
        #expect(
            balance.closes && balance.stored == 2 && balance.dropped == ["byte-cap": 3, "quarantined": 1, "age-cap": 4])
        let status = try await queue.status()
        #expect(status.quarantinedRecords == 1 && status.secondsSinceQuarantine == 0)
        await queue.close()
    }

    @Test
    func
        `Answers for another epoch, inside a gap, with wrong sums or with impossible numbers change nothing`()
        async throws
    {
        let fixture = try QueueFixture()
        let queue = try fixture.open()
        for _ in 1...4 { try queue.enqueue(fixture.record()) }
        let part = try #require(
            try await queue.nextPart(of: .sample, maximumBytes: 1 << 20, maximumRecords: 2, hold: .zero))
        var collector = ModelCollector()
        let answer = collector.post(part)
        let before = try await queue.balance()

        var foreign = answer
        foreign.epoch = .random()
        #expect(try await queue.apply(foreign) == .old)
        var wrong = answer
        wrong.mark.stored = 1
        await #expect(throws: QueueError.self) { _ = try await queue.apply(wrong) }
        #expect(try await queue.balance() == before)
        var mark = WireMark()
        (mark.number, mark.stored, mark.link) = (.max, .max, answer.mark.link.data)
        #expect(throws: WireError.self) { try StreamMark(mark) }
        _ = try await queue.drop(oldest: 3, of: .sample, reason: .byteCap, keepAside: false)
        #expect(try await queue.apply(answer) == .insideGap)
        _ = try await collector.drain(queue)
        let balance = try #require(try await queue.balance()[.sample])
        #expect(
            balance.closes && balance.stored == 3 && balance.dropped == ["byte-cap": 1],
            "what had arrived after all counts as stored")
        await queue.close()
    }

    @Test
    func `Once histories have diverged nothing is sent, also after a restart, and the status says so`() async throws {
        let fixture = try QueueFixture()
        var queue = try fixture.open()
        _ = try await queue.enqueueDurably(fixture.record(.status))
        let beyond = StreamMark(number: 9, link: ChainLink(high: 1, low: 1), stored: 9)
        let answer = PartAnswer(epoch: queue.epoch, stream: .status, outcome: .stored, mark: beyond)
        #expect(try await queue.apply(answer) == .diverged(.markBeyondProduced))
        #expect(try await queue.nextPart(of: .status, maximumBytes: 1, maximumRecords: 1, hold: .zero) == nil)
        await queue.close()
        queue = try fixture.open()
        #expect(try await queue.nextPart(of: .status, maximumBytes: 1, maximumRecords: 1, hold: .zero) == nil)
        let status = try await queue.status()
        #expect(status.divergence?.reason == .markBeyondProduced && status.divergence?.stream == .status)
        #expect(status.streams[.status]?.waiting == 1)
        #expect(try await queue.enqueueDurably(fixture.record(.status)) == 2)
        await queue.close()
    }

    @Test
    func `The first binding binds; another is told whom the queue is for`() async throws {
        let fixture = try QueueFixture()
        var queue = try fixture.open()
        let first = QueueBinding(collector: .random(), organization: "default", device: .random())
        let other = QueueBinding(collector: .random(), organization: "default", device: first.device)
        #expect(try await queue.binding == nil)
        #expect(try await queue.bind(to: first) == .bound)
        await queue.close()
        queue = try fixture.open()
        #expect(try await queue.bind(to: first) == .same)
        #expect(try await queue.bind(to: other) == .other(first))
        #expect(try await queue.binding == first)
        await queue.close()
    }
}
