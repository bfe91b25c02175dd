extension LogStore {
    /// What there is of a store, and what is lost.
    public struct Status: Sendable {
        /// On disk, of all programs that write into the directory, without the ring.
        public var bytes: Int
        /// Of the ring on disk.
        public var ringBytes: Int
        /// Segments on disk, the ring's too.
        public var segments: Int
        /// Lines this program has handed to the kernel since it opened the store.
        public var written: LogLevelCounts
        /// Lines that are not, or no longer, in the store, ever and of all programs, by reason.
        public var dropped: [LogDropReason: LogLevelCounts]
        /// Lines of this program in memory.
        public var waiting: LogLevelCounts
        /// Memory they take.
        public var waitingBytes: Int
        /// Why the last lines could not be written; `nil`: they could.
        public var failure: LogStoreError?
    }

    /// As things stand now. Reads the directory, so not for every second; waits while another thread writes.
    public var status: Status {
        let figures = writer.figures()
        var dropped = ((try? directory.readState()) ?? nil)?.dropped ?? [:]
        for (reason, counts) in figures.unsaved { dropped[reason, default: LogLevelCounts()] += counts }
        let segments = (try? keeper.sizes()) ?? [:]
        let ring = segments.filter { $0.key.kind == .ring }.values.reduce(0, +)
        return Status(
            bytes: segments.values.reduce(0, +) - ring, ringBytes: ring, segments: segments.count, written: figures.written,
            dropped: dropped, waiting: figures.waiting, waitingBytes: figures.waitingBytes, failure: figures.failure)
    }
}
