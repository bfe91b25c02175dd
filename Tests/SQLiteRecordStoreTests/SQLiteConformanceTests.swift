import StoreTestKit
import Testing

/// The SQLite engine keeps what `RecordStore` promises.
@Suite struct SQLiteConformanceTests {
    @Test(arguments: RecordStoreConformance.checks) func `The SQLite engine conforms`(
        _ check: RecordStoreConformance.Check
    ) async throws {
        try await check.run(on: try SQLiteEngine())
    }
}
