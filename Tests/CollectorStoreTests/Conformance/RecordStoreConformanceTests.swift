import RecordStoreTestKit
import TelemetryTestKit
import Testing

/// Every engine keeps what `RecordStore` promises, and the suite notices who does not.
@Suite struct RecordStoreConformanceTests {
    @Test(arguments: RecordStoreConformance.checks) func theSQLiteEngineConforms(
        _ check: RecordStoreConformance.Check
    ) async throws {
        try await check.run(on: try SQLiteEngine())
    }

    @Test(arguments: RecordStoreConformance.checks) func theReferenceInMemoryConforms(
        _ check: RecordStoreConformance.Check
    ) async throws {
        try await check.run(on: InMemoryEngine())
    }

    @Test(arguments: InMemoryRecordStore.PlantedBug.allCases)
    func aPlantedBugFailsTheSuite(_ bug: InMemoryRecordStore.PlantedBug) async {
        await withKnownIssue("\(bug)") {
            for check in RecordStoreConformance.checks { try await check.run(on: InMemoryEngine(bug: bug)) }
        }
    }
}
