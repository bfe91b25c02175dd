import Foundation
import Testing
import WireModel

@testable import RecordQueue

@Suite("Group commit")
struct GroupCommitTests {
    @Test
    func `Callers that wait at the same time share syncs, and each gets its own number`() async throws {
        let fixture = try QueueFixture()
        let queue = try fixture.open()
        let before = try await queue.status().commits
        let numbers = try await withThrowingTaskGroup(of: UInt64.self) { group in
            for _ in 1...200 { group.addTask { try await queue.enqueueDurably(fixture.record(.event)) } }
            var numbers: [UInt64] = []
            for try await number in group { numbers.append(number) }
            return numbers
        }
        #expect(numbers.sorted() == Array(1...200))
        let commits = try await queue.status().commits - before
        #expect(commits < 200, "\(commits) commits for 200 durable records")
        await queue.close()
    }

    @Test
    func `Ordinary records wait for the loss window, a durable one takes them along`() async throws {
        let fixture = try QueueFixture()
        // So long that none ends it on a busy machine.
        let queue = try fixture.open("", QueueFixture.configuration { $0.lossWindow = .seconds(60) })
        for _ in 1...100 { try queue.enqueue(fixture.record()) }
        var status = try await queue.status()
        #expect(status.streams[.sample]?.waiting == 0 && status.buffered == 100)
        _ = try await queue.enqueueDurably(fixture.record(.event))
        status = try await queue.status()
        #expect(status.streams[.sample]?.waiting == 100 && status.buffered == 0)
        #expect(status.commits == 1, "one transaction for all")
        await queue.close()
    }

    @Test
    func `With a loss window of zero a returned call is on disk`() async throws {
        let fixture = try QueueFixture()
        let queue = try fixture.open("", QueueFixture.configuration { $0.lossWindow = .zero })
        try queue.enqueue(fixture.record())
        let status = try await queue.status()
        #expect(status.streams[.sample]?.waiting == 1 && status.buffered == 0 && status.commits == 1)
        await queue.close()
    }

    @Test
    func `An ordinary record is committed when the loss window is over, without another call`() async throws {
        let fixture = try QueueFixture()
        let queue = try fixture.open("", QueueFixture.configuration { $0.lossWindow = .milliseconds(1) })
        try queue.enqueue(fixture.record())
        // Each look is a turn of the writer; the timer needs no help.
        let deadline = ContinuousClock.now + .seconds(30)
        while try await queue.status().streams[.sample]?.waiting == 0, ContinuousClock.now < deadline {
            await Task.yield()
        }
        #expect(try await queue.status().streams[.sample]?.waiting == 1)
        await queue.close()
    }

    @Test
    func `A commit for another reason voids the timer; the next record has a loss window of its own`() throws {
        let fixture = try QueueFixture()
        var buffer = WriteBuffer(capacity: 300_000)
        #expect(try buffer.add(.init(record: fixture.record(), waiter: nil)) == .later)
        #expect(try buffer.add(.init(record: fixture.record(), waiter: nil)) == .none)
        buffer.settle(buffer.drain().entries)
        let early = buffer.timerFired()
        #expect(!early, "nothing waits that it was set for")
        #expect(try buffer.add(.init(record: fixture.record(), waiter: nil)) == .later)
        let (due, again) = (buffer.timerFired(), buffer.timerFired())
        #expect(due && !again)
    }

    @Test
    func `Too large and too many are refused, typed and counted, and the counts outlive the process`() async throws {
        let fixture = try QueueFixture()
        var buffer = WriteBuffer(capacity: 300_000)
        #expect(try buffer.add(.init(record: fixture.record(bytes: 250_000), waiter: nil)) == .now)
        #expect(throws: QueueError.self) {
            _ = try buffer.add(.init(record: fixture.record(bytes: 60_000), waiter: nil))
        }
        #expect(buffer.unnumbered == [.sample: [.bufferFull: 1]])

        var queue = try fixture.open()
        #expect(throws: QueueError.self) { try queue.enqueue(fixture.record(.event, bytes: 300_000)) }
        let refused = await #expect(throws: QueueError.self) {
            try await queue.enqueueDurably(fixture.record(.event, bytes: 300_000))
        }
        #expect(refused?.code == .tooLarge)
        await queue.close()
        queue = try fixture.open()
        let balance = try #require(try await queue.balance()[.event])
        #expect(balance.produced == 2 && balance.dropped == ["too-large": 2] && balance.closes)
        await queue.close()
    }

    @Test
    func `What a failed commit leaves stays within the bound, and a full buffer then says why`() throws {
        let fixture = try QueueFixture()
        var buffer = WriteBuffer(capacity: 300_000)
        _ = try buffer.add(.init(record: fixture.record(bytes: 250_000), waiter: nil))
        let taken = buffer.drain()
        #expect(throws: QueueError.self, "what is being committed counts") {
            _ = try buffer.add(.init(record: fixture.record(bytes: 60_000), waiter: nil))
        }
        buffer.putBack(taken.entries, unnumbered: taken.unnumbered, after: QueueError(.diskFull, "full"))
        let error = #expect(throws: QueueError.self) {
            _ = try buffer.add(.init(record: fixture.record(bytes: 60_000), waiter: nil))
        }
        #expect(error?.code == .diskFull)
        #expect(buffer.unnumbered == [.sample: [.bufferFull: 1, .diskFull: 1]])
        buffer.settle(buffer.drain().entries)
        #expect(buffer.bytes == 0)
    }
}
