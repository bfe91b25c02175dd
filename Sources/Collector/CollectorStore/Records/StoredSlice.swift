import FoundationEssentials
import WireModel

/// One row of a day's file: what one part added to a chain, packed.
struct StoredSlice: Sendable {
    var id: Int64
    var first: UInt64
    var last: UInt64
    /// Numbers between the former mark and `first` that no part contained.
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

    /// A step of the chain inside the slice.
    enum Step: Equatable, Sendable {
        case gap(Gap)
        /// The position of its bytes in `records`.
        case record(Range<Int>)
        case rejected(RejectedRecord)
    }

    struct Fault: Error, Equatable {
        /// The first number that is wrong.
        var number: UInt64
        var message: String
    }

    /// Walks over the slice number by number and recomputes the chain over all bytes.
    ///
    /// The link of a rejected record without stored bytes cannot be proved. Throws if the rows do not cover the slice
    /// or the chain does not end in `lastLink`.
    /// - Parameter visit: receives the last number of a step, the link there, and the step.
    func walk(_ visit: (UInt64, ChainLink, Step) -> Void) throws(Fault) {
        let ranges = records.withUnsafeBytes { PackedRecords.ranges($0) }
        guard let ranges else {
            throw Fault(number: first, message: "the lengths of the packed records do not match their blob")
        }
        guard ranges.count == recordCount else {
            throw Fault(number: first, message: "\(ranges.count) records are packed, but \(recordCount) were counted")
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
                    throw Fault(number: rejection.number, message: "a rejected record's bytes do not match its link")
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
                message: "the recomputed chain of \(first)...\(last) does not end with the stored link")
        }
    }
}

/// A record that the mark passed and that was not stored.
struct RejectedRecord: Equatable, Sendable {
    var number: UInt64
    var reason: RejectReason
    /// Its size in bytes.
    var size: Int
    /// `link(number)`.
    var link: ChainLink
    /// Stored if it is small, so the chain can be proved over it.
    var bytes: Data?

    static let keptBytes = 4096
}

/// The records of one slice in one blob: each as a length of four bytes, little-endian, followed by its bytes. There is
/// nothing between them, so the blob's size is the sum.
enum PackedRecords {
    static let lengthBytes = 4

    /// Packs the records that are stored.
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

    /// The position of each record in the blob; `nil` if the lengths do not cover it.
    static func ranges(_ blob: UnsafeRawBufferPointer) -> [Range<Int>]? {
        var ranges: [Range<Int>] = []
        return forEach(blob) { ranges.append($0) } ? ranges : nil
    }

    /// Counts the records without allocating.
    static func count(_ blob: UnsafeRawBufferPointer) -> Int? {
        var count = 0
        return forEach(blob) { _ in count += 1 } ? count : nil
    }

    /// - Returns: whether the lengths cover the blob.
    @inline(__always)
    private static func forEach(_ blob: UnsafeRawBufferPointer, _ visit: (Range<Int>) -> Void) -> Bool {
        var position = 0
        while position < blob.count {
            guard blob.count - position >= lengthBytes else { return false }
            let length = Int(UInt32(littleEndian: blob.loadUnaligned(fromByteOffset: position, as: UInt32.self)))
            position += lengthBytes
            guard length <= blob.count - position else { return false }
            visit(position..<(position + length))
            position += length
        }
        return true
    }
}
