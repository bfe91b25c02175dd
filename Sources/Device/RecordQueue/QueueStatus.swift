import WireModel

/// The queue at a glance, for people and for the beacon.
package struct QueueStatus: Equatable, Sendable {
    package struct Stream: Equatable, Sendable {
        /// Rows.
        package var waiting: UInt64
        /// Bytes of records waiting.
        package var waitingBytes: UInt64
        /// Seconds on the queue clock since the oldest waiting record was made; `nil` where nothing waits.
        package var oldestAgeSeconds: Double?
        /// Rows whose hold is over; all of them where no hold was given.
        package var due: UInt64
        package var lastNumber: UInt64
        package var mark: StreamMark
        package var gaps: [Gap]
        /// By reason, all time: up to the mark as the collector counted, above it and without a number as the device
        /// did.
        package var dropped: [DropReason: UInt64]
        /// Records that wait for consent.
        package var consentPending: UInt64
        /// All records that wait apart from the stream: for consent, for an ended epoch to be closed, on their way into
        /// this one.
        package var apart: UInt64
    }

    /// An epoch of this file that is over; the settled ones for a while.
    package struct Ended: Equatable, Sendable {
        package var epoch: EpochID
        package var end: EpochEnd
        /// The collector has answered.
        package var isClosed: Bool
        /// The device's wall clock, microseconds since 1970.
        package var endedWallTime: Int64
        /// Its records that still wait.
        package var waiting: UInt64
        package var salvage: Salvage?
    }

    /// What came of a queue file that was corrupt or gone.
    package struct Salvage: Equatable, Sendable {
        package var cause: String
        /// The folder that keeps the file; empty if there was none.
        package var file: String
        package var salvaged: UInt64
        /// Records known to be lost with it.
        package var lost: UInt64
    }

    package var epoch: EpochID
    package var streams: [StreamName: Stream]
    package var divergence: QueueDivergence?
    package var binding: QueueBinding?
    /// Oldest first.
    package var ended: [Ended]
    /// The database file as allocated.
    package var fileBytes: Int64
    package var walBytes: Int64
    /// What the file system offers to ordinary users; `nil` where it does not say.
    package var freeBytes: UInt64?
    package var quarantinedRecords: UInt64
    package var quarantinedBytes: UInt64
    /// Seconds on the queue clock since a record was last quarantined; `nil`: never.
    package var secondsSinceQuarantine: Double?
    /// Records in the writer's buffer, not yet committed.
    package var buffered: Int
    /// Transactions synced to disk since the queue was opened.
    package var commits: UInt64
    /// Pages written into the WAL since the queue was opened, 4,096 bytes each.
    package var pagesWritten: UInt64
    /// Why the last commit failed, where the one after it has not succeeded yet.
    package var failure: String?
    /// Files that turned out to be corrupt or gone, and were replaced: by opening the queue, and since.
    package var replacements = 0
}

/// That and why this epoch's history and the collector's are no longer one.
package struct QueueDivergence: Equatable, Sendable {
    package var reason: MarkDecision.Divergence
    package var stream: StreamName
    /// The device's wall clock when it was noticed, microseconds since 1970.
    package var wallTime: Int64
}

/// Whom a queue's records are for. The first one binds; pointed elsewhere the queue holds.
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

/// What came of binding a queue.
package enum BindingOutcome: Equatable, Sendable {
    /// It was bound to nobody and is now bound.
    case bound
    /// It is bound to this very one.
    case same
    /// It is bound to another, and stays so.
    case other(QueueBinding)
}
