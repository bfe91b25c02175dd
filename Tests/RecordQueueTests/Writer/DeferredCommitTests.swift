import Foundation
import SQLite
import Testing
import WireModel

@testable import RecordQueue

/// An acknowledgement counts at once and is written with the next commit.
@Suite("Acknowledgements that wait for a commit")
struct DeferredCommitTests {
    private func acknowledge(_ records: Int, _ store: QueueStore, _ collector: inout ModelCollector) throws {
        let next = try store.nextPart(of: .event, maximumBytes: 1 << 20, maximumRecords: records, hold: .zero)
        #expect(try store.apply(collector.post(try #require(next))) == .remove)
    }

    @Test
    func
        `It shares the next commit; until then a kill brings back acknowledged records that the collector has`()
        async throws
    {
        let fixture = try QueueFixture()
        try FileManager.default.createDirectory(atPath: "\(fixture.directory)/live", withIntermediateDirectories: true)
        let queue = try fixture.open("/live")
        for _ in 1...10 { try queue.enqueue(fixture.record(.event)) }
        try await queue.flush()
        let before = try await queue.status().commits
        var collector = ModelCollector()
        _ = try await collector.drain(queue)
        var status = try await queue.status()
        #expect(status.commits == before && status.streams[.event]?.waiting == 0)
        #expect(try await queue.nextPart(of: .event, maximumBytes: 1 << 20, maximumRecords: 100, hold: .zero) == nil)
        try fixture.copyAsKilled(from: "/live", to: "/killed")

        #expect(try await queue.enqueueDurably(fixture.record(.event)) == 11)
        status = try await queue.status()
        #expect(status.commits == before + 1, "one transaction for both")
        try fixture.copyAsKilled(from: "/live", to: "/later")
        #expect(try await queue.verify().isWhole)
        await queue.close()

        for (image, waiting) in [("/killed", UInt64(10)), ("/later", 1)] {
            let copy = try fixture.open(image)
            #expect(try await copy.status().streams[.event]?.waiting == waiting, "\(image)")
            // The same collector has both branches' records, once.
            var same = collector
            _ = try await same.drain(copy)
            #expect(same.stored[.event]?.count == (image == "/killed" ? 10 : 11))
            for (stream, balance) in try await copy.balance() {
                #expect(balance.closes && balance.waiting == 0, "\(stream) \(balance)")
            }
            await copy.close()
        }
    }

    @Test
    func `A change that fails neither undoes it nor leaves it to another`() throws {
        struct Refusal: Error {}
        let fixture = try QueueFixture()
        let store = try fixture.store()
        _ = try store.append((1...20).map { _ in fixture.record(.event) })
        var collector = ModelCollector()
        try acknowledge(5, store, &collector)
        #expect(store.isCommitDue && store.commits == 1)
        #expect(throws: Refusal.self) {
            try store.change { next in
                next[.event].unnumbered[.byteCap] = 7
                try store.connection.execute("DELETE FROM event")
                throw Refusal()
            }
        }
        #expect(!store.isCommitDue && store.commits == 2 && store.state[.event].mark.number == 5)
        #expect(store.state[.event].rowCount == 15 && store.state[.event].unnumbered.isEmpty)
        #expect(try store.countRows(of: .current(.event)) == 15)
        // Until something has succeeded again each is committed by itself.
        try acknowledge(5, store, &collector)
        #expect(!store.isCommitDue && store.commits == 3)
        try acknowledge(5, store, &collector)
        #expect(store.isCommitDue && store.commits == 3)
        try store.settle()
        #expect(!store.isCommitDue && store.commits == 4 && store.state[.event].mark.number == 15)
        try store.close()
    }

    @Test
    func `A large one is committed at once, and so is each with a loss window of zero`() throws {
        for (bytes, window, commits) in [(100, Duration.seconds(60), 1), (2000, .seconds(60), 2), (100, .zero, 2)]
            as [(Int, Duration, UInt64)]
        {
            let fixture = try QueueFixture()
            let store = try fixture.store(QueueFixture.configuration { $0.lossWindow = window })
            _ = try store.append((1...200).map { _ in fixture.record(.event, bytes: bytes) })
            var collector = ModelCollector()
            try acknowledge(1000, store, &collector)
            #expect(store.commits == commits, "\(bytes) \(window)")
            try store.close()
        }
    }

    @Test
    func `Closing commits it`() async throws {
        let fixture = try QueueFixture()
        var queue = try fixture.open()
        _ = try await queue.enqueueDurably(fixture.record(.event))
        var collector = ModelCollector()
        _ = try await collector.drain(queue)
        await queue.close()
        queue = try fixture.open()
        #expect(try await queue.status().streams[.event]?.waiting == 0)
        await queue.close()
    }
}
