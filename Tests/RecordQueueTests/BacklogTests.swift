import Foundation
import SQLite
import Testing
import WireModel

@testable import RecordQueue

@Suite("Backlog")
struct BacklogTests {
    private func filled(_ fixture: QueueFixture, _ count: Int) throws -> QueueStore {
        let store = try fixture.store()
        for _ in 0..<count / 1000 { _ = try store.append((0..<1000).map { _ in fixture.record(bytes: 100) }) }
        return store
    }

    @Test
    func `Opening, the status and a part read as many pages whatever waits, and a part no more than it holds`() throws {
        var figures: [(open: Int, status: Int, part: Int)] = []
        for count in [2000, 40_000] {
            let fixture = try QueueFixture()
            try filled(fixture, count).close()
            let store = try fixture.store()
            let open = store.connection.pagesRead
            _ = try store.status(holds: [.sample: .seconds(60)])
            let status = store.connection.pagesRead
            _ = try store.nextPart(of: .sample, maximumBytes: 50_000, maximumRecords: 100, hold: .zero)
            figures.append((open, status - open, store.connection.pagesRead - status))
            try store.close()
        }
        #expect(figures[1].open <= figures[0].open + 4, "\(figures)")
        #expect(figures[1].status <= figures[0].status + 30, "\(figures)")
        #expect(figures[1].part <= figures[0].part + 4, "\(figures)")
    }

    @Test
    func `Draining costs as much for the last part as for the first`() throws {
        let fixture = try QueueFixture()
        let store = try filled(fixture, 30_000)
        var collector = ModelCollector()
        var reads: [Int] = []
        while let part = try store.nextPart(of: .sample, maximumBytes: 1 << 20, maximumRecords: 1000, hold: .zero) {
            let before = store.connection.pagesRead
            #expect(try store.apply(collector.post(part)) == .remove)
            reads.append(store.connection.pagesRead - before)
        }
        #expect(reads.count == 30)
        #expect((reads.max() ?? 0) <= 3 * max(20, reads.min() ?? 0), "\(reads)")
        try store.close()
    }
}
