import Logging
import SQLite
import WireModel

/// Retention as administrators see it over a collector that runs. A day's file holds the records of all organizations, so all of it is of
/// the collector as a whole.
extension CollectorRegistry {
    /// What is kept of the records, whether retention waits, and what has become of the last purge.
    package func retention() async throws(StoreError) -> RetentionService.Status {
        try await database.retention(directory)
    }

    /// The clock is right: retention goes on at its next pass, within the hour.
    /// - Returns: what it waited for; `nil`, with nothing in the audit trail, where it did not.
    package func releaseRetention(by actor: AuditActor) async throws(StoreError) -> String? {
        try await database.releaseRetention(by: actor)
    }

    /// Whole days of records that came so many days ago or before; never the present day.
    /// - Parameter days: 1 or more.
    package func purgePlan(olderThanDays days: Int, streams: Set<StreamName>) async throws(StoreError) -> PurgePlan {
        try await RecordPurge(directory: directory.path, clock: database.clock, logger: database.logger)
            .plan(olderThanDays: days, streams: streams)
    }

    /// Asks for these files to be removed: whoever serves the records does it within ten seconds, or at the next start.
    /// - Returns: the purge's id, which `retention` tells and the audit trail has as its subject; `nil`, with nothing asked, where an earlier
    ///   purge has not been done yet.
    package func purge(_ plan: PurgePlan, by actor: AuditActor) async throws(StoreError) -> String? {
        try await database.ask(PurgeRequest(files: plan.files.map { PurgeRequest.File($0.partition) }, actor: actor))
    }
}

extension RegistryDatabase {
    func retention(_ directory: DataDirectory) throws(StoreError) -> RetentionService.Status {
        try requireInPlace()
        return try RetentionService(directory: directory.path).status()
    }

    func releaseRetention(by actor: AuditActor) throws(StoreError) -> String? {
        let now = clock.now()
        return try transaction { () throws(SQLiteError) in try RetentionState(connection: connection).release(by: actor, at: now)?.message }
    }

    func ask(_ request: PurgeRequest) throws(StoreError) -> String? {
        let now = clock.now()
        let isAsked = try transaction { () throws(SQLiteError) in try RetentionState(connection: connection).ask(request, at: now) }
        return isAsked ? request.idText : nil
    }
}
