import FoundationEssentials
import WireModel

/// One row of a day's file: what one part added to a chain, packed.
struct StoredSlice: Sendable {
    var id: Int64
    var first: UInt64
    var last: UInt64
    /// Numbers below `first` and above the former mark that no part ever brought.
    var lostBefore: UInt64
    /// `link(first - 1)`.
    var priorLink: ChainLink
    /// `link(last)`.
    var lastLink: ChainLink
    var receivedAt: Int64
    var recordCount: UInt64
    var gaps: [Gap]
    /// `PackedRecords`.
    var records: Data
    /// Ascending.
    var rejected: [RejectedRecord]

    /// A place of the chain inside the slice.
    enum Step: Equatable, Sendable {
        case gap(Gap)
        /// Its bytes within `records`.
        case record(Range<Int>)
        case rejected(RejectedRecord)
    }

    struct Fault: Error, Equatable {
        /// The first number that is not right.
        var number: UInt64
        var message: String
    }

    /// Goes over the slice number by number, recomputing the chain over every byte there is.
    ///
    /// A rejected record whose bytes were not kept gives its link unproven. Throws where the rows do not tile the slice
    /// or the chain does not end in `lastLink`.
    /// - Parameter visit: the number a step ends at, the link there, and the step.
    func walk(_ visit: (UInt64, ChainLink, Step) -> Void) throws(Fault) {
        let ranges = records.withUnsafeBytes { PackedRecords.ranges($0) }
        guard let ranges else {
            throw Fault(number: first, message: "the lengths of the packed records do not tile their blob")
        }
        guard ranges.count == recordCount else {
            throw Fault(number: first, message: "\(ranges.count) records are packed where \(recordCount) were counted")
        }
        var position = first - 1
        var running = priorLink
        var nextRange = ranges[...]
        var nextGap = gaps[...]
        var nextRejected = rejected[...]
        while position < last {
            if let gap = nextGap.first, gap.first == position + 1 {
                guard gap.last >= gap.first, gap.last <= last else {
                    throw Fault(number: gap.first, message: "a gap leaves the slice")
                }
                nextGap.removeFirst()
                running = gap.link
                position = gap.last
                visit(position, running, .gap(gap))
            } else if let rejection = nextRejected.first, rejection.number == position + 1 {
                nextRejected.removeFirst()
                if let bytes = rejection.bytes, running.appending(bytes) != rejection.link {
                    throw Fault(number: rejection.number, message: "a rejected record's bytes do not give its link")
                }
                running = rejection.link
                position += 1
                visit(position, running, .rejected(rejection))
            } else if let range = nextRange.popFirst() {
                running = records.withUnsafeBytes { running.appending(UnsafeRawBufferPointer(rebasing: $0[range])) }
                position += 1
                visit(position, running, .record(range))
            } else {
                throw Fault(number: position + 1, message: "no record, gap or rejection for this number")
            }
        }
        guard nextRange.isEmpty, nextGap.isEmpty, nextRejected.isEmpty else {
            throw Fault(
                number: last,
                message:
                    "\(nextRange.count) records, \(nextGap.count) gaps and \(nextRejected.count) rejections too many")
        }
        guard running == lastLink else {
            throw Fault(
                number: first,
                message: "the chain recomputed over \(first)...\(last) does not end in the link it was accepted with")
        }
    }
}

/// A record whose number the mark passed and whose bytes were not stored as a record.
struct RejectedRecord: Equatable, Sendable {
    var number: UInt64
    var reason: RejectReason
    /// Bytes it had.
    var size: Int
    /// `link(number)`.
    var link: ChainLink
    /// Kept where it is small, so that the chain stays provable over it.
    var bytes: Data?

    static let keptBytes = 4096
}

/// The records of one slice in one blob: each as four bytes of length, little-endian, and its bytes. What is between
/// them is nothing, so the blob's size is the sum.
enum PackedRecords {
    static let lengthBytes = 4

    /// Those of the records that are stored.
    static func pack(_ records: [AcceptedRecord]) -> Data {
        var packed = Data(count: records.reduce(0) { $0 + ($1.rejection == nil ? $1.bytes.count + lengthBytes : 0) })
        packed.withUnsafeMutableBytes { packed in
            var position = 0
            for record in records where record.rejection == nil {
                packed.storeBytes(of: UInt32(record.bytes.count).littleEndian, toByteOffset: position, as: UInt32.self)
                position += lengthBytes
                record.bytes.withUnsafeBytes {
                    UnsafeMutableRawBufferPointer(rebasing: packed[position...]).copyMemory(from: $0)
                }
                position += record.bytes.count
            }
        }
        return packed
    }

    /// Where each record lies in the blob; `nil` where the lengths do not tile it.
    static func ranges(_ blob: UnsafeRawBufferPointer) -> [Range<Int>]? {
        var ranges: [Range<Int>] = []
        var position = 0
        while position < blob.count {
            guard blob.count - position >= lengthBytes else { return nil }
            let length = Int(UInt32(littleEndian: blob.loadUnaligned(fromByteOffset: position, as: UInt32.self)))
            position += lengthBytes
            guard length <= blob.count - position else { return nil }
            ranges.append(position..<(position + length))
            position += length
        }
        return ranges
    }

    /// Counts without allocating.
    static func count(_ blob: UnsafeRawBufferPointer) -> Int? {
        var count = 0
        var position = 0
        while position < blob.count {
            guard blob.count - position >= lengthBytes else { return nil }
            let length = Int(UInt32(littleEndian: blob.loadUnaligned(fromByteOffset: position, as: UInt32.self)))
            guard length <= blob.count - position - lengthBytes else { return nil }
            position += lengthBytes + length
            count += 1
        }
        return count
    }
}
