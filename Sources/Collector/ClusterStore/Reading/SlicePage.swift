import FoundationEssentials
import RecordStore
import WireModel

/// A page of records while it is filled. Records, bytes and the slices examined are limited.
struct SlicePage {
    let query: RecordQuery
    let limit: Int
    /// Oldest first.
    let isForward: Bool
    private(set) var records: [StoredRecord] = []
    private(set) var next: SliceCursor?
    /// Slices at later positions are left out.
    var horizon = Int64.max
    /// Behind all that was examined, of a scan.
    var resume: SliceCursor?
    private var bytes: UInt64 = 0
    private var recordBytes = 0
    private var examined = 0

    /// The slices examined for one page at most.
    private static let slicesLimit = 2000
    /// The most bytes of slices read for one page. The one that exceeds it is still read.
    private static let bytesLimit: UInt64 = 8 << 20
    private static let recordsPerScan = 10_000

    /// The slices looked at for one page at most, those included that another list would show.
    private static let seenLimit = 65_536
    private var seen = 0

    init(query: RecordQuery, limit: Int, isForward: Bool) {
        self.query = query
        self.limit = limit
        self.isForward = isForward
    }

    /// How many more matching records end the page. A page of the newest records ends at the first one without room.
    var wanted: Int { (isForward ? min(limit, Self.recordsPerScan) : limit + 1) - records.count }

    var page: RecordPage {
        RecordPage(records: records, next: next?.text, resume: isForward ? (next ?? resume)?.text : nil)
    }

    private var isFull: Bool { records.count == limit || !isForward && recordBytes >= RecordPage.maximumBytes }

    /// Adds a slice's matching records in the page's direction.
    /// - Parameter below: only numbers below this.
    /// - Returns: whether the page is full.
    mutating func add(_ slice: StoredSlice, _ head: SliceSummary, below: UInt64) throws(StoreError) -> Bool {
        guard let ranges = slice.records.withUnsafeBytes({ PackedRecords.ranges($0) }) else {
            throw StoreError(
                .corrupt, "the slice after number \(head.id.key) of \(head.id.chain.device) is not packed records.")
        }
        var contexts = SliceContexts(slice.records, ranges)
        var last = below
        for step in ranges.indices {
            let place = isForward ? step : ranges.count - 1 - step
            let packed = slice.records.slice(ranges[place])
            guard let header = RecordHeader(scanning: packed) else {
                throw StoreError(
                    .corrupt, "a record after number \(head.id.key) of \(head.id.chain.device) has no envelope.")
            }
            guard header.number < below else { continue }
            if isFull {
                next = SliceCursor(place: head.place, number: last)
                return true
            }
            last = header.number
            guard query.admits(header) else { continue }
            records.append(
                StoredRecord(
                    device: head.id.chain.device, epoch: head.id.chain.epoch, header: header, bytes: Data(packed),
                    receivedAt: slice.receivedAt, context: contexts.context(of: header, at: place)))
            recordBytes += packed.count
        }
        return pass(head, bytes: UInt64(slice.records.count))
    }

    /// Records that a slice was examined.
    /// - Returns: whether the page ends behind it.
    mutating func pass(_ head: SliceSummary, bytes more: UInt64 = 0) -> Bool {
        bytes += more
        examined += 1
        resume = SliceCursor(place: head.place, number: 0)
        guard
            bytes >= Self.bytesLimit || examined >= Self.slicesLimit
                || isForward && records.count >= Self.recordsPerScan
        else { return false }
        next = SliceCursor(place: head.place, number: 0)
        return true
    }

    /// Records that all slices up to a position were looked at.
    /// - Returns: whether the page ends there.
    mutating func passed(_ count: Int, upTo position: Int64, on day: UTCDay) -> Bool {
        seen += count
        let edge: UInt64 = isForward ? .max : 0
        let chain = ChainKey(device: .init(high: edge, low: edge), epoch: .init(high: edge, low: edge))
        resume = SliceCursor(place: SlicePlace(day: day, position: position, chain: chain, key: edge), number: 0)
        guard seen >= Self.seenLimit else { return false }
        next = resume
        return true
    }
}
