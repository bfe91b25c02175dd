import RecordStore
import WireModel

/// Retention in a running collector, for administrators. A day's file contains the records of all organizations, so all
/// of this concerns the collector as a whole.
extension MetadataService {
    /// The rules by which records are kept, whether retention waits, and the state of the last purge.
    package nonisolated func retention(of store: any RecordStore) async throws(StoreError) -> RetentionService.Status {
        try await requireInPlace()
        return try await RetentionService(registry).status(of: store)
    }

    /// An administrator states that the clock is right. Retention continues with its next pass, within the hour.
    /// - Returns: what it waited for; `nil`, without an audit entry, if it did not wait.
    package func releaseRetention(by actor: AuditActor) throws(StoreError) -> String? {
        let now = clock.now()
        return try transaction { () throws(StoreError) in
            try RetentionState(connection: connection).release(by: actor, at: now)?.message
        }
    }

    /// The whole days of records received that many days ago or earlier; never today.
    /// - Parameter days: 1 or more.
    package nonisolated func purgePlan(
        of store: any RecordStore, olderThanDays days: Int, streams: Set<StreamName>
    ) async throws(StoreError) -> PurgePlan {
        try await RecordPurge(registry, clock: clock)
            .plan(of: store, olderThanDays: days, streams: streams)
    }

    /// Requests the removal of these files. The collector that serves the records removes them within ten seconds, or
    /// at its next start.
    /// - Returns: the purge's id in `retention` and the audit trail; `nil`, with nothing requested, while an earlier
    ///   purge is not complete.
    package func purge(_ plan: PurgePlan, by actor: AuditActor) throws(StoreError) -> String? {
        let request = PurgeRequest(plan, actor: actor)
        let now = clock.now()
        let isAsked = try transaction { () throws(StoreError) in
            try RetentionState(connection: connection).ask(request, at: now)
        }
        return isAsked ? request.idText : nil
    }
}
