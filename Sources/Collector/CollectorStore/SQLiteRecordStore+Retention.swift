import WireModel

extension SQLiteRecordStore {
    /// Which of a stream's files are over the limits, oldest first.
    package func removals(
        of stream: StreamName, at now: Int64, limits: RetentionLimits.Stream
    ) async throws(StoreError) -> [RetentionPlan.Removal] {
        try await keeper.removals(of: stream, at: now, limits: limits)
    }

    /// When the newest record of any stream came, by the collector's clock.
    package func newestReceipt() async throws(StoreError) -> Int64? {
        try await keeper.newestReceipt()
    }

    /// Removes files whose marks are in the baseline already.
    package func removeLeftovers() async throws(StoreError) {
        try await keeper.removeLeftovers()
    }

    /// Removes one stream's file of one day for good: its marks and counts go into the baseline, synced, first.
    ///
    /// Only the oldest file of a stream can go. The writer is asked twice, shortly: to write to it no more, and to forget it. Counting and
    /// removing happen beside it. A crash in between is finished at the next opening.
    /// - Throws: `.notFound`, `.conflict` where older ones are left, or what the disk says.
    package func dropPartition(day: UTCDay, stream: StreamName) async throws(StoreError) {
        guard let writer = writers[stream] else { return }
        let partition = Partition(day: day, stream: stream)
        try await writer.beginRetiring(day)
        do throws(StoreError) { try await keeper.absorb(partition, at: clock.now()) } catch {
            guard DiskReserve(directory: directory).giveUp(for: error) else { throw error }
            try await keeper.absorb(partition, at: clock.now())
        }
        await writer.endRetiring(day)
        await reader.forget(partition)
        try await keeper.remove(partition)
    }
}
