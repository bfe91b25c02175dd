import DeviceTestKit
import Foundation
import SQLite
import Testing
import WireModel

@testable import RecordQueue

@Suite("Epochs that are given up")
struct GivenUpTests {
    private static let secret = Data("a-secret-of-the-person".utf8)

    private func record(_ fixture: QueueFixture, bytes: Int = 0) -> NewRecord {
        NewRecord(stream: .event, kind: .event, stamp: fixture.clock.now(), body: Self.secret + Data(count: bytes))
    }

    /// Files of the queue that hold a word of the person.
    private func leaks(_ directory: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory).filter { name in
            try Data(contentsOf: URL(fileURLWithPath: "\(directory)/\(name)")).range(of: Self.secret) != nil
        }
    }

    /// Rows of ended epochs, and how many bytes they hold beside number and link.
    private func rows(_ queue: RecordQueue) async throws -> (count: Int, bytes: Int) {
        try await queue.run { store in
            try store.state.tables.filter { $0 != .current($0.stream) }.reduce(into: (0, 0)) { sum, table in
                let rows = try store.connection.prepare(
                    """
                    SELECT count(*), coalesce(sum(length(body) + size + kind + wall_time + queue_time), 0) \
                    FROM \(table.name)
                    """
                )
                guard try rows.step() else { return }
                sum = (sum.0 + rows.int(0), sum.1 + rows.int(1))
            }
        }
    }

    @Test(arguments: [0, 6000])
    func `Wiped content is not on the disk any more, also while only number and link wait for the close, nor after it`(
        _ bytes: Int
    ) async throws {
        let fixture = try QueueFixture()
        var collector = ModelCollector()
        var queue = try fixture.open()
        func fill(_ count: Int) async throws {
            for number in 1...count {
                try queue.enqueue(record(fixture, bytes: bytes))
                if number.isMultiple(of: 100) { try await queue.flush() }
            }
            try await queue.flush()
        }
        try await fill(500)
        _ = try await queue.drop(oldest: 3, of: .event, reason: .quarantined, keepAside: true)
        #expect(try leaks(fixture.directory).contains("queue.sqlite-wal"))
        // What an earlier end keeps is wiped as well.
        try await queue.endEpoch(.restored)
        try await fill(300)
        try await queue.endEpoch(.wiped)
        #expect(try await rows(queue) == (797, 0))
        #expect(try leaks(fixture.directory).isEmpty)
        await queue.close()
        #expect(try leaks(fixture.directory).isEmpty)
        queue = try fixture.open()
        #expect(try await queue.run { try $0.verify() }.findings.isEmpty)
        _ = try await collector.closeAll(queue)
        #expect(try await rows(queue) == (0, 0))
        #expect(try leaks(fixture.directory).isEmpty)
        let balance = try #require(try await queue.balance()[.event])
        #expect(balance.closes && balance.dropped == ["moved": 500, "wiped": 797, "quarantined": 3])
        await queue.close()
    }

    @Test
    func `Killed between ending and erasing, the rest is erased by the next start and finishWipe, and counted once`()
        async throws
    {
        let fixture = try QueueFixture()
        let store = try fixture.store()
        _ = try store.append((1...20_000).map { _ in record(fixture) })
        try store.endEpoch(.wiped)
        var image = 0
        repeat {
            image += 1
            try fixture.copyAsKilled(from: "", to: "/\(image)")
        } while try store.advanceEnded()
        try store.close()
        #expect(image > 2)
        for number in 1...image {
            let queue = try fixture.open("/\(number)")
            try await queue.finishWipe()
            #expect(try await rows(queue) == (20_000, 0))
            #expect(try leaks("\(fixture.directory)/\(number)").isEmpty)
            var collector = ModelCollector()
            #expect(try await collector.closeAll(queue) == 1)
            #expect(try await queue.balance()[.event]?.dropped == ["wiped": 20_000])
            await queue.close()
        }
    }

    @Test
    func `A wipe whose scrub fails says so; saying finishWipe scrubs, whatever waits by then`() async throws {
        let fixture = try QueueFixture()
        let queue = try fixture.open()
        for _ in 1...50 { _ = try await queue.enqueueDurably(record(fixture)) }
        let former = queue.epoch
        // A statement under way keeps the file from being written anew.
        let obstacle = Obstacle()
        try await queue.run { try obstacle.begin($0) }
        await #expect(throws: QueueError.self) { try await queue.endEpoch(.wiped) }
        #expect(queue.epoch != former)
        await #expect(throws: QueueError.self) { try await queue.finishWipe() }
        #expect(try !leaks(fixture.directory).isEmpty)
        try await queue.run { _ in obstacle.end() }
        _ = try await queue.enqueueDurably(fixture.record())
        try await queue.finishWipe()
        #expect(try leaks(fixture.directory).isEmpty)
        let balance = try await queue.balance()
        #expect(balance[.event]?.dropped == ["wiped": 50] && balance[.sample]?.waiting == 1)
        await queue.close()
    }

    /// Used on the writer's thread alone.
    private final class Obstacle: @unchecked Sendable {
        private var statement: Statement?

        func begin(_ store: QueueStore) throws {
            statement = try store.connection.prepare("SELECT id FROM meta UNION ALL SELECT 2")
            _ = try statement?.step()
        }

        func end() { statement = nil }
    }

    @Test(arguments: [EpochEnd.wiped, .unenrolled, .reboundDrop], [15, 30, 45])
    func `An image is brought back and given up before anything was compared: each record is stored or counted, once`(
        _ end: EpochEnd, _ arrived: UInt64
    ) async throws {
        let fixture = try QueueFixture()
        var collector = ModelCollector()
        var queue = try fixture.open("/a")
        for _ in 1...20 { try queue.enqueue(fixture.record(.event, byte: 1)) }
        try await queue.flush()
        try fixture.copyAsKilled(from: "/a", to: "/b")
        for _ in 1...25 { try queue.enqueue(fixture.record(.event, byte: 2)) }
        try await queue.flush()
        let part = try await queue.nextPart(
            of: .event, maximumBytes: 1 << 20, maximumRecords: Int(arrived), hold: .zero)
        #expect(collector.post(try #require(part)).outcome == .stored)
        await queue.close()
        queue = try fixture.open("/b")
        for _ in 1...15 { try queue.enqueue(fixture.record(.event, byte: 3)) }
        try await queue.endEpoch(end)
        #expect(try await collector.closeAll(queue) <= 2)
        let balance = try #require(try await queue.balance()[.event])
        // Of the 35 of this branch the first 20 are on the other as well.
        #expect(balance.dropped == [end.reason.description: 35 - min(20, arrived)])
        #expect(balance.closes && balance.stored == arrived && balance.waiting == 0)
        await queue.close()
    }

    @Test
    func
        `Given up after its close was sent and the answer lost: both sides say moved and count what was not stored`()
        async throws
    {
        let fixture = try QueueFixture()
        var collector = ModelCollector()
        let queue = try fixture.open()
        for _ in 1...30 { try queue.enqueue(fixture.record(.event)) }
        try await queue.flush()
        let part = try await queue.nextPart(of: .event, maximumBytes: 1 << 20, maximumRecords: 12, hold: .zero)
        #expect(collector.post(try #require(part)).outcome == .stored)
        try await queue.endEpoch(.restored)
        _ = try collector.close(try #require(try await queue.nextClose()))
        try await queue.endEpoch(.wiped)
        let request = try #require(try await queue.nextClose())
        #expect(request.streams.allSatisfy { $0.reason == .moved }, "the reason that was sent stays")
        #expect(try await queue.balance()[.event]?.dropped == ["wiped": 30])
        _ = try await collector.closeAll(queue)
        let balance = try #require(try await queue.balance()[.event])
        #expect(balance.closes && balance.stored == 12 && balance.waiting == 0)
        #expect(balance.dropped == ["moved": 18, "wiped": 18])
        await queue.close()
    }

    @Test(arguments: EpochEnd.allCases)
    func `A close tells what was dropped without a number after the last part, the same until it is settled`(
        _ end: EpochEnd
    ) async throws {
        guard end != .salvaged, end != .reboundSend else { return }
        let fixture = try QueueFixture()
        var collector = ModelCollector()
        let queue = try fixture.open()
        for _ in 1...5 { try queue.enqueue(fixture.record(.event)) }
        _ = try await collector.drain(queue)
        queue.countDropped(.bufferFull, of: .event, 7)
        try await queue.flush()
        try await queue.endEpoch(end)
        let request = try #require(try await queue.nextClose())
        queue.countDropped(.bufferFull, of: .event, 2)
        try await queue.flush()
        #expect(try await queue.nextClose() == request)
        _ = try await collector.closeAll(queue)
        let reported = collector.histories.first { $0.key.stream == .event }?.value.lastTotals
        #expect(reported == StreamTotals(produced: 12, droppedUnnumbered: [.bufferFull: 7]))
        #expect(try await queue.balance()[.event]?.dropped == ["buffer-full": 9])
        await queue.close()
    }

    @Test
    func `What is kept of rows that were given up makes room for new records, and is not in the caps`() async throws {
        let fixture = try QueueFixture()
        let configuration = QueueFixture.configuration {
            $0.maximumBytes = 1 << 20
            $0.maximumRecords = 100_000
        }
        let queue = try fixture.open("", configuration)
        func fill() async throws {
            for number in 1...3000 {
                try queue.enqueue(fixture.record(.event, bytes: 60))
                if number.isMultiple(of: 500) { try await queue.flush() }
            }
        }
        for round in 1...12 {
            try await fill()
            try await queue.endEpoch(.unenrolled)
            let status = try await queue.status()
            #expect(status.streams[.event]?.apart == 0 && status.ended.allSatisfy { $0.waiting == 0 }, "round \(round)")
        }
        try await fill()
        let balance = try #require(try await queue.balance()[.event])
        #expect(balance.closes && balance.waiting == 3000 && balance.dropped == ["unenrolled": 36_000], "\(balance)")
        #expect(try await rows(queue).count < 36_000, "the oldest have given way")
        #expect(try await queue.run { try $0.verify() }.findings.isEmpty)
        var collector = ModelCollector()
        _ = try await collector.closeAll(queue)
        _ = try await collector.drain(queue)
        #expect(try await queue.balance()[.event]?.stored == 3000)
        await queue.close()
    }
}
