import Foundation
import SQLite
import Testing
import WireModel

@testable import RecordQueue

@Suite("Eviction at the cap")
struct EvictionTests {
    /// Fills with so many records of a stream, about 4 KB each, in transactions as the writer makes them.
    private func fill(_ store: QueueStore, _ fixture: QueueFixture, _ stream: StreamName, _ count: Int) throws -> Int {
        var refused = 0
        for start in stride(from: 0, to: count, by: 20) {
            let records = (start..<min(count, start + 20)).map { _ in fixture.record(stream, bytes: 4000) }
            refused += try store.append(records).filter { $0 == .refused }.count
        }
        return refused
    }

    private func checkBytes(_ store: QueueStore) throws {
        for stream in StreamName.allCases {
            let rows = try store.connection.prepare(
                "SELECT coalesce(sum(size), 0), coalesce(sum(length(body)), 0) FROM \(stream)")
            _ = try rows.step()
            #expect(store.state[stream].bytes == UInt64(rows.int64(0)) && rows.int64(0) == rows.int64(1), "\(stream)")
            #expect(try store.countRows(of: .current(stream)) == store.state[stream].rowCount)
        }
        #expect(try store.connection.fileSize(.main) <= Int64(store.configuration.maximumBytes))
        #expect(store.state.bytes <= UInt64(store.configuration.maximumBytes))
        #expect(try store.balance().values.allSatisfy(\.closes))
    }

    @Test
    func `Samples go first, then events, then status, oldest first; never what is more important than the newcomer`()
        throws
    {
        let fixture = try QueueFixture()
        let store = try fixture.store(QueueFixture.configuration { $0.maximumBytes = 2 << 20 })
        #expect(try fill(store, fixture, .sample, 600) == 0)
        #expect(store.state[.sample].gaps.map(\.reason) == [.byteCap])
        #expect(store.state[.sample].last == 600 && store.state[.sample].gaps[0].first == 1)
        try checkBytes(store)

        #expect(try fill(store, fixture, .event, 300) == 0)
        #expect(store.state[.event].gaps.isEmpty, "samples gave way")
        let samples = store.state[.sample].rowCount
        #expect(try fill(store, fixture, .event, 300) == 0)
        #expect(store.state[.sample].rowCount == 0 && samples < 600)
        #expect(store.state[.event].gaps.map(\.reason) == [.byteCap])
        try checkBytes(store)

        #expect(try fill(store, fixture, .sample, 20) > 0, "events do not give way to samples")
        try checkBytes(store)
        #expect(try fill(store, fixture, .status, 1000) == 0)
        #expect(store.state[.event].rowCount == 0)
        #expect(try fill(store, fixture, .event, 40) > 0)
        let unnumbered = store.state[.event].unnumbered[.byteCap] ?? 0
        #expect(unnumbered > 0 && store.state[.event].produced == 640)
        try checkBytes(store)
        try store.close()
    }

    @Test
    func `The row cap drops the oldest of the same stream`() throws {
        let fixture = try QueueFixture()
        let store = try fixture.store(QueueFixture.configuration { $0.maximumRecords = 50 })
        _ = try fill(store, fixture, .event, 5)
        _ = try fill(store, fixture, .sample, 130)
        #expect(store.state[.sample].rowCount == 50 && store.state[.event].rowCount == 5)
        #expect(
            store.state[.sample].gaps == [
                Gap(first: 1, last: 80, reason: .rowCap, link: store.state[.sample].frontLink)
            ])
        try checkBytes(store)
        try store.close()
    }

    @Test
    func `A durable record that finds no place under the cap is told so`() async throws {
        let fixture = try QueueFixture()
        let queue = try fixture.open("", QueueFixture.configuration { $0.maximumBytes = 1 << 20 })
        for _ in 1...12 { _ = try await queue.enqueueDurably(fixture.record(.status, bytes: 100_000)) }
        let error = await #expect(throws: QueueError.self) {
            try await queue.enqueueDurably(fixture.record(.sample, bytes: 200_000))
        }
        #expect(error?.code == .capReached)
        let balance = try await queue.balance()
        #expect(balance[.sample]?.dropped == ["byte-cap": 1] && balance[.sample]?.closes == true)
        #expect(balance[.status]?.closes == true)
        await queue.close()
    }

    @Test
    func `Room is found in the file, then by growing, then by eviction, and the reserve stays`() {
        func step(available: Int, allocated: Int, needed: Int) -> RoomPlan.Step {
            RoomPlan(availablePages: available, allocatedPages: allocated, growthPages: 256, maximumPages: 1000).step(
                needed: needed)
        }
        #expect(step(available: 42, allocated: 256, needed: 10) == .fits)
        #expect(step(available: 41, allocated: 256, needed: 10) == .grow(toPages: 512))
        #expect(step(available: 0, allocated: 256, needed: 300) == .grow(toPages: 768))
        #expect(step(available: 0, allocated: 768, needed: 200) == .grow(toPages: 1000))
        #expect(step(available: 0, allocated: 768, needed: 300) == .evict(pages: 100))
        #expect(step(available: 10, allocated: 1000, needed: 10) == .evict(pages: 32))
        #expect(FreeSpace(bytes: 100, inodes: 1, totalInodes: 100).allows(40, keepBytes: 60, keepInodesPercent: 1))
        #expect(!FreeSpace(bytes: 100, inodes: 1, totalInodes: 100).allows(41, keepBytes: 60, keepInodesPercent: 1))
        #expect(!FreeSpace(bytes: 100, inodes: 1, totalInodes: 200).allows(1, keepBytes: 0, keepInodesPercent: 1))
    }
}
