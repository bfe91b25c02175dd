import SQLite
import WireModel

/// Retention as administrators see it over a collector that runs. A day's file holds the records of all organizations,
/// so all of it is of the collector as a whole.
extension MetadataService {
    /// What is kept of the records, whether retention waits, and what has become of the last purge.
    package nonisolated func retention(of store: any RecordStore) async throws(StoreError) -> RetentionService.Status {
        try await requireInPlace()
        return try await RetentionService(directory: directory.path).status(of: store)
    }

    /// An administrator says that the clock is right: retention goes on at its next pass, within the hour.
    /// - Returns: what it waited for; `nil`, without an audit entry, where it did not wait.
    package func releaseRetention(by actor: AuditActor) throws(StoreError) -> String? {
        let now = clock.now()
        return try transaction { () throws(SQLiteError) in
            try RetentionState(connection: connection).release(by: actor, at: now)?.message
        }
    }

    /// The whole days of records that came so many days ago or earlier; never today.
    /// - Parameter days: 1 or more.
    package nonisolated func purgePlan(
        of store: any RecordStore, olderThanDays days: Int, streams: Set<StreamName>
    ) async throws(StoreError) -> PurgePlan {
        try await RecordPurge(directory: directory.path, clock: clock)
            .plan(of: store, olderThanDays: days, streams: streams)
    }

    /// Asks for these files to be removed. The collector that serves the records does it within ten seconds, or at its
    /// next start.
    /// - Returns: the purge's id, as in `retention` and the audit trail; `nil`, with nothing asked, while an earlier
    ///   purge is not done.
    package func purge(_ plan: PurgePlan, by actor: AuditActor) throws(StoreError) -> String? {
        let request = PurgeRequest(files: plan.files.map { PurgeRequest.File($0.partition) }, actor: actor)
        let now = clock.now()
        let isAsked = try transaction { () throws(SQLiteError) in
            try RetentionState(connection: connection).ask(request, at: now)
        }
        return isAsked ? request.idText : nil
    }
}
