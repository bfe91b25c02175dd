import StoreTestKit
import Testing

/// The cluster's store keeps what `RecordStore` promises, on three replicas of ClickHouse and a PostgreSQL.
@Suite struct ClusterConformanceTests {
    @Test(.timeLimit(.minutes(5)), arguments: RecordStoreConformance.checks) func `The cluster store conforms`(
        _ check: RecordStoreConformance.Check
    ) async throws {
        try await check.run(on: try await ClusterEngine())
    }
}
