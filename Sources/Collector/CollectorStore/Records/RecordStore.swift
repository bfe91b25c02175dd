import FoundationEssentials
import WireModel

/// What a collector keeps of its devices' streams: the port that every storage engine implements.
///
/// A call of `append` or `close` returns once what it says is on synced disk, or says `unavailable`. An answer that
/// stored nothing needs no sync of its own: what it read was synced before. Safe to call from any number of tasks; one
/// writer per stream decides, so two parts of one stream never race.
package protocol RecordStore: Sendable {
    /// Decides every part against its stream's mark, in order, and stores what lies above it.
    ///
    /// Never throws: a part that cannot be decided now (disk full, I/O error, shutting down, too many requests waiting)
    /// answers `.unavailable` with the mark as last known on disk and the reason in `detail`.
    /// - Parameter receivedAt: the collector's clock, microseconds since 1970; it chooses no partition (the writer
    ///   does, at commit).
    func append(_ parts: [BatchPart], from device: DeviceID, receivedAt: Int64) async -> [PartAnswer]

    /// Closes an epoch for good and finds, per stream, the greatest point offered that lies in the collector's history.
    /// May be repeated with finer points: last number and reason of the first close stand, totals are taken over as
    /// `StreamTotals.told(also:)` says.
    func close(_ request: EpochClose, from device: DeviceID) async throws(StoreError) -> [ClosedStream]

    /// Counts rows and marks of one device.
    func balance(of device: DeviceID) async throws(StoreError) -> [EpochBalance]

    /// Records of one stream, newest first by position of receipt: of one device, or of many in one order.
    ///
    /// A page ends at `limit` records, and before that where enough has been looked at for one call: then it may hold
    /// few records or none and still have a `next`.
    /// - Parameters:
    ///   - before: an opaque position from an earlier page's `next`, of the same query; `nil` from the newest.
    ///   - limit: 1 to 1,000.
    func records(_ query: RecordQuery, before: String?, limit: Int) async throws(StoreError) -> RecordPage

    /// The newest record of each device, by position of receipt, that the query admits. Devices without one are not in
    /// the answer.
    ///
    /// Each device is looked up by itself, in its newest files first, so the cost is that of the devices asked for.
    func newestRecords(of devices: [DeviceID], _ query: RecordQuery) async throws(StoreError) -> [DeviceID:
        StoredRecord]

    /// Record files of a stream that answers pass over, because they cannot be read; by name, oldest first. Empty where
    /// all are read.
    func unreadableFiles(of stream: StreamName) -> [String]

    /// Whether an append could succeed now; the reason where it could not.
    func readiness() async -> StoreReadiness

    /// What is on disk and on its way there, for whoever watches. Looks at every file's size.
    func figures() async -> StoreFigures

    /// Lets writers finish what they have begun, then closes every file. Later appends answer `.unavailable`.
    func shutDown() async
}

extension RecordStore {
    package func unreadableFiles(of stream: StreamName) -> [String] { [] }

    /// Records of one stream of a device.
    /// - Parameter kind: raw value of a record kind, `nil` for all.
    package func records(
        of device: DeviceID, stream: StreamName, kind: Int?, module: String?, before: String?, limit: Int
    ) async throws(StoreError) -> RecordPage {
        try await records(
            RecordQuery(.one(device), stream: stream, kinds: kind.map { [$0] } ?? [], module: module), before: before,
            limit: limit)
    }
}

package enum StoreReadiness: Equatable, Sendable {
    case ready
    case notReady(String)
}

package struct StoreFigures: Equatable, Sendable {
    package struct Stream: Equatable, Sendable {
        package var stream: StreamName
        package var files = 0
        package var fileBytes: UInt64 = 0
        /// Of parts that wait for the disk or are on their way to it.
        package var pipelineBytes = 0
        package var pipelineLimitBytes = 0
    }

    package struct Disk: Equatable, Sendable {
        /// What an ordinary user may still write.
        package var freeBytes: UInt64
        package var sizeBytes: UInt64
    }

    package var streams: [Stream]
    /// `nil` where the system does not say.
    package var disk: Disk?

    package init(streams: [Stream] = [], disk: Disk? = nil) {
        self.streams = streams
        self.disk = disk
    }
}

/// Closing an epoch: all three streams, each with its last number, the reason for what lies between mark and last, the
/// device's last totals, and points of its chain.
package struct EpochClose: Equatable, Sendable {
    package struct Stream: Equatable, Sendable {
        package var stream: StreamName
        package var last: UInt64
        package var reason: DropReason
        package var points: [Point]
        /// `nil`: the device does not tell them; what its parts told stands.
        package var totals: StreamTotals?

        package init(
            stream: StreamName, last: UInt64, reason: DropReason, points: [Point], totals: StreamTotals? = nil
        ) {
            self.stream = stream
            self.last = last
            self.reason = reason
            self.points = points
            self.totals = totals
        }
    }

    package struct Point: Equatable, Sendable {
        package var number: UInt64
        package var link: ChainLink

        package init(number: UInt64, link: ChainLink) {
            self.number = number
            self.link = link
        }
    }

    package var epoch: EpochID
    package var streams: [Stream]

    package init(epoch: EpochID, streams: [Stream]) {
        self.epoch = epoch
        self.streams = streams
    }
}

package struct ClosedStream: Equatable, Sendable {
    package enum Match: Equatable, Sendable {
        case point(EpochClose.Point)
        /// None of the points is in the history.
        case none
        /// Retention removed what could tell.
        case unknown
    }

    package var stream: StreamName
    package var mark: StreamMark
    package var match: Match

    package init(stream: StreamName, mark: StreamMark, match: Match) {
        self.stream = stream
        self.mark = mark
        self.match = match
    }
}

/// One stream of one epoch of a device, counted at the collector.
package struct EpochBalance: Equatable, Sendable {
    package var epoch: EpochID
    package var stream: StreamName
    package var mark: StreamMark
    /// Counted from rows, plus what retention removed with its files (from the baseline).
    package var storedRows: UInt64
    /// The device's totals as its newest stored part carried them.
    package var totals: StreamTotals
    package var closed: Bool
    /// produced by the device's newest totals; waiting = produced - what the mark covers, so far as the totals are not
    /// older than the mark.
    package var balance: StreamBalance

    package init(
        epoch: EpochID, stream: StreamName, mark: StreamMark, storedRows: UInt64, totals: StreamTotals, closed: Bool,
        balance: StreamBalance
    ) {
        self.epoch = epoch
        self.stream = stream
        self.mark = mark
        self.storedRows = storedRows
        self.totals = totals
        self.closed = closed
        self.balance = balance
    }
}

package struct StoredRecord: Equatable, Sendable {
    package var device: DeviceID
    package var epoch: EpochID
    package var header: RecordHeader
    /// The serialized record.
    package var bytes: Data
    /// The collector's clock at receipt, microseconds since 1970.
    package var receivedAt: Int64

    package init(device: DeviceID, epoch: EpochID, header: RecordHeader, bytes: Data, receivedAt: Int64) {
        self.device = device
        self.epoch = epoch
        self.header = header
        self.bytes = bytes
        self.receivedAt = receivedAt
    }
}

package struct RecordPage: Equatable, Sendable {
    package var records: [StoredRecord]
    /// Opaque; `nil` at the end.
    package var next: String?

    package init(records: [StoredRecord], next: String?) {
        self.records = records
        self.next = next
    }
}

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
        stream: StreamName, requests: Int, duration: Duration, failure: StoreError.Code? = nil,
        counts: StoreCounts = StoreCounts()
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
