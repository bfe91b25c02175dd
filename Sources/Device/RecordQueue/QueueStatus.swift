import WireModel

/// A summary of the queue, for people and for the beacon.
package struct QueueStatus: Equatable, Sendable {
    package struct Stream: Equatable, Sendable {
        /// Waiting records.
        package var waiting: UInt64
        /// Bytes of waiting records.
        package var waitingBytes: UInt64
        /// Age of the oldest waiting record in seconds on the queue clock; `nil` if none waits.
        package var oldestAgeSeconds: Double?
        /// Records whose hold is over; all records if no hold was given.
        package var due: UInt64
        package var lastNumber: UInt64
        package var mark: StreamMark
        package var gaps: [Gap]
        /// Dropped records by reason, over all time: up to the mark as the collector counted, above it and without a
        /// number as the device counted.
        package var dropped: [DropReason: UInt64]
        /// Records of ended epochs: they wait for the epoch to be closed, or are on their way into this one.
        package var apart: UInt64
    }

    /// An ended epoch of this file. Settled epochs are listed for a while.
    package struct Ended: Equatable, Sendable {
        package var epoch: EpochID
        package var end: EpochEnd
        /// The collector has answered its close.
        package var isClosed: Bool
        /// The device's wall clock, microseconds since 1970.
        package var endedWallTime: Int64
        /// Its records that still wait.
        package var waiting: UInt64
        package var salvage: Salvage?
    }

    /// The result of salvaging a queue file that was corrupt or gone.
    package struct Salvage: Equatable, Sendable {
        /// Why the file was replaced.
        package var cause: String
        /// The directory that keeps the file; empty if there was none.
        package var file: String
        package var salvaged: UInt64
        /// Records known to be lost.
        package var lost: UInt64
    }

    package var epoch: EpochID
    package var streams: [StreamName: Stream]
    package var divergence: QueueDivergence?
    package var binding: QueueBinding?
    /// Oldest first.
    package var ended: [Ended]
    /// The allocated size of the database file.
    package var fileBytes: Int64
    package var walBytes: Int64
    /// Bytes that the file system offers to ordinary users; `nil` if unknown.
    package var freeBytes: UInt64?
    package var quarantinedRecords: UInt64
    package var quarantinedBytes: UInt64
    /// Seconds on the queue clock since the last record was quarantined; `nil` for never.
    package var secondsSinceQuarantine: Double?
    /// Records in the writer's buffer that are not committed.
    package var buffered: Int
    /// Transactions synced to disk since the queue was opened.
    package var commits: UInt64
    /// Pages written into the WAL since the queue was opened, 4,096 bytes each.
    package var pagesWritten: UInt64
    /// Why the last commit failed; `nil` once one succeeds again.
    package var failure: String?
    /// Files that were corrupt or gone and were replaced, by this opening and since.
    package var replacements = 0
}

/// When and why this epoch's history diverged from the collector's.
package struct QueueDivergence: Equatable, Sendable {
    package var reason: MarkDecision.Divergence
    package var stream: StreamName
    /// The device's wall clock when it was found, in microseconds since 1970.
    package var wallTime: Int64
}

/// The device and collector that a queue's records belong to. The first one is bound. A queue that is pointed elsewhere
/// sends nothing.
package struct QueueBinding: Equatable, Sendable {
    package var collector: CollectorID
    package var organization: String
    package var device: DeviceID

    package init(collector: CollectorID, organization: String, device: DeviceID) {
        self.collector = collector
        self.organization = organization
        self.device = device
    }
}

/// The result of binding a queue.
package enum BindingOutcome: Equatable, Sendable {
    /// The queue was not bound and now is.
    case bound
    /// The queue is bound to the same already.
    case same
    /// The queue is bound to another, and stays so.
    case other(QueueBinding)
}
