import CollectorStore
import FoundationEssentials
import WireModel

/// A page of records while it is filled. Records, bytes and the slices examined are limited.
struct SlicePage {
    let query: RecordQuery
    let limit: Int
    /// Oldest first.
    let isForward: Bool
    private(set) var records: [StoredRecord] = []
    private(set) var next: SliceCursor?
    private var bytes: UInt64 = 0
    private var examined = 0

    /// The slices examined for one page at most.
    private static let slicesLimit = 2000
    /// The most bytes of slices read for one page. The one that exceeds it is still read.
    private static let bytesLimit: UInt64 = 8 << 20
    private static let recordsPerScan = 1000

    init(query: RecordQuery, limit: Int, isForward: Bool) {
        self.query = query
        self.limit = limit
        self.isForward = isForward
    }

    var page: RecordPage { RecordPage(records: records, next: next?.text) }

    /// Adds a slice's matching records in the page's direction.
    /// - Parameter below: only numbers below this.
    /// - Returns: whether the page is full.
    mutating func add(_ slice: StoredSlice, _ head: SliceHead, below: UInt64) throws(StoreError) -> Bool {
        guard let ranges = slice.records.withUnsafeBytes({ PackedRecords.ranges($0) }) else {
            throw StoreError(
                .corrupt, "the slice after number \(head.key) of \(head.chain.device) is not packed records.")
        }
        var last = below
        for range in isForward ? ranges : ranges.reversed() {
            let packed = slice.records.slice(range)
            guard let header = RecordHeader(scanning: packed) else {
                throw StoreError(.corrupt, "a record after number \(head.key) of \(head.chain.device) has no envelope.")
            }
            guard header.number < below else { continue }
            if records.count == limit {
                next = SliceCursor(place: head.place, number: last)
                return true
            }
            last = header.number
            guard query.admits(header) else { continue }
            records.append(
                StoredRecord(
                    device: head.chain.device, epoch: head.chain.epoch, header: header, bytes: Data(packed),
                    receivedAt: slice.receivedAt))
        }
        return pass(head, bytes: UInt64(slice.records.count))
    }

    /// Notes that a slice was examined.
    /// - Returns: whether the page ends behind it.
    mutating func pass(_ head: SliceHead, bytes more: UInt64 = 0) -> Bool {
        bytes += more
        examined += 1
        guard
            bytes >= Self.bytesLimit || examined >= Self.slicesLimit
                || isForward && records.count >= Self.recordsPerScan
        else { return false }
        next = SliceCursor(place: head.place, number: 0)
        return true
    }
}
