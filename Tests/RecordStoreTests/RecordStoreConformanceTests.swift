import StoreTestKit
import Testing

/// The reference in memory keeps what `RecordStore` promises, and the suite notices who does not.
@Suite struct RecordStoreConformanceTests {
    @Test(arguments: RecordStoreConformance.checks) func `The reference in memory conforms`(
        _ check: RecordStoreConformance.Check
    ) async throws {
        try await check.run(on: InMemoryEngine())
    }

    @Test(arguments: InMemoryRecordStore.PlantedBug.allCases)
    func `A planted bug fails the suite`(_ bug: InMemoryRecordStore.PlantedBug) async {
        await withKnownIssue("\(bug)") {
            for check in RecordStoreConformance.checks { try await check.run(on: InMemoryEngine(bug: bug)) }
        }
    }
}
