import StoreTestKit
import Synchronization
import Testing

/// The reference in memory keeps what `RecordStore` promises, and the suite notices who does not.
@Suite struct RecordStoreConformanceTests {
    @Test(arguments: RecordStoreConformance.checks) func `The reference in memory conforms`(
        _ check: RecordStoreConformance.Check
    ) async throws {
        try await check.run(on: InMemoryEngine())
    }

    @Test(arguments: InMemoryRecordStore.PlantedBug.allCases)
    func `A planted bug fails the suite`(_ bug: InMemoryRecordStore.PlantedBug) async throws {
        let isFound = Atomic(false)
        try await withKnownIssue("\(bug)") {
            // One check that notices it is enough.
            for check in RecordStoreConformance.checks where !isFound.load(ordering: .relaxed) {
                try await check.run(on: InMemoryEngine(bug: bug))
            }
        } matching: { _ in
            isFound.store(true, ordering: .relaxed)
            return true
        }
    }
}
