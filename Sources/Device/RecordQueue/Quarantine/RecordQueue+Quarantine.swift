/// Records that were quarantined because they alone were refused.
extension RecordQueue {
    /// Queues them anew at the end of their streams, on synced disk when this returns. A kill leaves each quarantined or
    /// queued, never both.
    ///
    /// Only those that the collector does not have, by its own counts; the others stay quarantined.
    /// - Parameters:
    ///   - ids: as `inspect` gives them; empty: all.
    ///   - includingUncertain: also those of which nobody can tell any more whether the collector has them. It may then
    ///     store them twice.
    /// - Throws: `.capReached`, `.diskFull` where there is no room; nothing changes then.
    package func retry(_ ids: Set<Int64> = [], includingUncertain: Bool = false) async throws(QueueError) -> QueueRetry {
        try await run(committingFirst: true) { try $0.retry(ids, includingUncertain: includingUncertain) }
    }
}
