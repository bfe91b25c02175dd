import WireModel

/// Told what the store does, for whoever counts it. Called from the writers' threads: returns at once.
package protocol StoreObserver: Sendable {
    func committed(_ commit: StoreCommit)
}

/// One transaction of a stream's writer.
package struct StoreCommit: Sendable {
    package var stream: StreamName
    /// Requests that shared it.
    package var requests: Int
    /// Waiting for the file, all work and the sync.
    package var duration: Duration
    /// `nil` where it is on synced disk.
    package var failure: StoreError.Code?
    /// What came to be stored by it; nothing where it failed.
    package var counts: StoreCounts

    package init(
        stream: StreamName, requests: Int, duration: Duration, failure: StoreError.Code? = nil, counts: StoreCounts = StoreCounts()
    ) {
        self.stream = stream
        self.requests = requests
        self.duration = duration
        self.failure = failure
        self.counts = counts
    }
}

/// Records by what became of them.
package struct StoreCounts: Equatable, Sendable {
    package var stored: UInt64 = 0
    package var rejected: UInt64 = 0
    /// By the devices, told in gaps.
    package var dropped: UInt64 = 0
    /// Numbers that no device brought.
    package var lost: UInt64 = 0

    package init() {}

    mutating func add(_ mark: StreamMark, since former: StreamMark) {
        stored.addSaturating(mark.stored.subtractingSaturating(former.stored))
        rejected.addSaturating(mark.rejectedCount.subtractingSaturating(former.rejectedCount))
        dropped.addSaturating(mark.droppedCount.subtractingSaturating(former.droppedCount))
        lost.addSaturating(mark.lostAtCollector.subtractingSaturating(former.lostAtCollector))
    }
}
