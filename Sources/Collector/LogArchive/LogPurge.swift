import FoundationEssentials
import RecordStore
import Registry
import TelemetryBasics
import WireModel

/// Deletes logs older than an administrator says; works beside a running collector, as transactions order the two.
package struct LogPurge: Sendable {
    private let archive: LogArchive
    private let clock: any StoreClock

    /// - Parameters:
    ///   - metadata: the caller closes it.
    ///   - quotas: the collector's quotas: their notices end when logs are deleted.
    ///   - chunks: where the collector keeps chunks; `nil`: in the data directory.
    /// - Throws: `.conflict` while the clock is in doubt; errors of the registry.
    package init(
        _ metadata: MetadataService, quotas: LogQuotas, chunks: (any ChunkStore)? = nil, clock: any StoreClock
    ) throws(StoreError) {
        try RetentionService(metadata.registry).requireTrustedClock()
        self.clock = clock
        var configuration = LogArchive.Configuration()
        configuration.quotas = quotas
        archive = LogArchive(metadata: metadata, chunks: chunks, configuration: configuration)
    }

    /// Selects logs received that many days ago or earlier, including those of test devices.
    /// - Parameters:
    ///   - days: 1 or more.
    ///   - organization, application: `nil` for all.
    package func query(olderThanDays days: Int, organization: String?, application: String?) -> LogQuery {
        LogQuery(
            organization: organization, application: application, withTest: true,
            receivedBefore: clock.now() - Int64(days) * CivilDate.microsecondsPerDay)
    }

    package func deletion(_ query: LogQuery) async throws(StoreError) -> LogDeletion {
        try await archive.metadata.deletion(query)
    }

    /// - Returns: `nil`, with nothing deleted, if the selection changed since it was confirmed.
    package func delete(_ query: LogQuery, confirmation: String) async throws(StoreError) -> LogDeletion? {
        try await archive.delete(query, confirmation: confirmation, by: .commandLine)
    }
}
