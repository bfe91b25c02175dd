import Logging
import RecordStore
import Registry
import StoreTestKit
import Synchronization
import Testing

@testable import Collector

@Suite("What is wrong with the collector itself") struct CollectorHealthTests {
    private let directory = TestMetadata()
    private let store = InMemoryRecordStore()

    private func health(lowBytes: UInt64 = 0, _ now: @escaping @Sendable () -> Int64) -> CollectorHealth {
        CollectorHealth(
            store: store, metadata: directory.service, lowBytes: lowBytes,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, now: now)
    }

    @Test func `A problem keeps the time at which it began and ends by itself`() async {
        let time = Mutex<Int64>(100)
        let health = health { time.withLock { $0 } }
        #expect(await health.look() == [])
        store.fail(StoreError(.diskFull, "full"))
        #expect(await health.look().map(\.kind) == [.notStoring])
        time.withLock { $0 = 200 }
        store.fail(StoreError(.io, "broken"))
        await health.look()
        #expect(health.troubles.map(\.since) == [100])
        #expect(health.troubles.first?.detail.contains("broken") == true)
        store.fail(nil)
        #expect(await health.look() == [] && health.troubles == [])
        store.fail(StoreError(.io, "broken"))
        #expect(await health.look().map(\.since) == [200])
    }

    @Test func `A low disk is the lesser problem`() async {
        let health = health(lowBytes: .max) { 1 }
        #expect(await health.look().map(\.kind) == [.diskLow])
        store.fail(StoreError(.diskFull, "full"))
        #expect(await health.look().map(\.kind) == [.notStoring])
        store.fail(nil)
        #expect(await self.health(lowBytes: 0) { 1 }.look() == [])
    }
}
