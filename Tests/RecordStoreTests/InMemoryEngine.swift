import FoundationEssentials
import RecordStore
import StoreTestKit

/// The reference in memory, whole or with a planted bug.
final class InMemoryEngine: RecordStoreEngine {
    private let memory: InMemoryRecordStore
    var store: any RecordStore { memory }
    let clock = ManualStoreClock()

    init(bug: InMemoryRecordStore.PlantedBug? = nil) { memory = InMemoryRecordStore(bug: bug, clock: clock) }

    func crash() { memory.crash() }

    func restart() async {
        await memory.shutDown()
        memory.restart()
    }

    func fillDisk() -> Bool {
        memory.fail(StoreError(.diskFull, "the disk is full."))
        return true
    }

    func freeDisk() { memory.fail(nil) }

    func restored() async throws -> (any RecordStore)? {
        let name = UUID().uuidString
        _ = try await memory.backup(to: name) { _ in }
        return InMemoryRecordStore(ofBackup: name, clock: clock)
    }

    func close() {}
}
