import FoundationEssentials
import WireModel

/// One page of records while it is filled, bounded in records, in bytes and in what is looked at for it.
struct RecordPageBuilder {
    let query: RecordQuery
    let limit: Int
    private(set) var records: [StoredRecord] = []
    var next: RecordCursor?
    /// What may still be done for this page: a slice that is read costs `workPerSlice`, one that is passed over 1.
    var work = 2000 * workPerSlice
    private var bytes = 0

    static let workPerSlice = 8
    /// Bytes of slices that are read for one page; the one that goes beyond is still read.
    private static let maximumBytes = 8 << 20

    init(query: RecordQuery, limit: Int) {
        self.query = query
        self.limit = limit
    }

    var page: RecordPage { RecordPage(records: records, next: next?.text) }

    /// Takes from a slice what the query admits, newest first.
    /// - Parameter below: only numbers below this.
    /// - Returns: whether the page is full; `next` is then where it goes on.
    mutating func add(slice id: Int64, of chain: ChainKey, in file: RecordFile, below: UInt64) throws(StoreError) -> Bool {
        guard let slice = try file.packedSlice(id: id) else { return false }
        work -= Self.workPerSlice
        bytes += slice.records.count
        guard let ranges = slice.records.withUnsafeBytes({ PackedRecords.ranges($0) }) else {
            throw file.corrupt("slice \(id) is not packed records")
        }
        var last = below
        for range in ranges.reversed() {
            let packed = slice.records.slice(range)
            guard let header = RecordHeader(scanning: packed) else { throw file.corrupt("a record of slice \(id) has no envelope") }
            guard header.number < below else { continue }
            if records.count == limit {
                next = RecordCursor(day: file.partition.day, slice: id, number: last)
                return true
            }
            last = header.number
            guard query.admits(header) else { continue }
            records.append(
                StoredRecord(
                    device: chain.device, epoch: chain.epoch, header: header, bytes: Data(packed), receivedAt: slice.receivedAt))
        }
        if bytes >= Self.maximumBytes {
            next = RecordCursor(day: file.partition.day, slice: id - 1, number: .max)
            return true
        }
        return false
    }
}
