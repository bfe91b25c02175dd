import FoundationEssentials
import WireModel

/// The addition of one part to a chain, packed: a row of a day's file, or of another engine's table.
package struct StoredSlice: Sendable {
    package var id: Int64
    package var first: UInt64
    package var last: UInt64
    /// Numbers between the former mark and `first` that no part contained.
    package var lostBefore: UInt64
    /// `link(first - 1)`.
    package var priorLink: ChainLink
    /// `link(last)`.
    package var lastLink: ChainLink
    package var receivedAt: Int64
    package var recordCount: UInt64
    package var gaps: [Gap]
    /// `PackedRecords`.
    package var records: Data
    /// Ascending.
    package var rejected: [RejectedRecord]

    /// - Parameter id: 0 where the engine has none.
    package init(
        id: Int64 = 0, first: UInt64, last: UInt64, lostBefore: UInt64, priorLink: ChainLink, lastLink: ChainLink,
        receivedAt: Int64, recordCount: UInt64, gaps: [Gap] = [], records: Data = Data(),
        rejected: [RejectedRecord] = []
    ) {
        self.id = id
        self.first = first
        self.last = last
        self.lostBefore = lostBefore
        self.priorLink = priorLink
        self.lastLink = lastLink
        self.receivedAt = receivedAt
        self.recordCount = recordCount
        self.gaps = gaps
        self.records = records
        self.rejected = rejected
    }

    /// A step of the chain inside the slice.
    package enum Step: Equatable, Sendable {
        case gap(Gap)
        /// The position of its bytes in `records`.
        case record(Range<Int>)
        case rejected(RejectedRecord)
    }

    package struct Fault: Error, Equatable {
        /// The first number that is wrong.
        package var number: UInt64
        package var message: String

        package init(number: UInt64, message: String) {
            self.number = number
            self.message = message
        }
    }

    /// Walks over the slice number by number and recomputes the chain over all bytes.
    ///
    /// The link of a rejected record without stored bytes cannot be proved. Throws if the rows do not cover the slice
    /// or the chain does not end in `lastLink`.
    /// - Parameter visit: receives the last number of a step, the link there, and the step.
    package func walk(_ visit: (UInt64, ChainLink, Step) -> Void) throws(Fault) {
        guard first >= 1, last >= first else {
            throw Fault(number: first, message: "a slice cannot have the numbers \(first) to \(last)")
        }
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

extension StoredSlice {
    /// The slice as one for each time of receipt, with the bounds of its records. What lies between two records stays
    /// with the former.
    /// - Parameter times: of each record.
    package func parts(receivedAt times: [Int64]) throws(Fault) -> [(slice: StoredSlice, bounds: RecordBounds)] {
        var parts: [(slice: StoredSlice, bounds: RecordBounds)] = []
        var part = emptied(from: first, priorLink)
        part.lostBefore = lostBefore
        var bounds = RecordBounds.none
        var place = 0
        try walk { number, link, step in
            switch step {
            case .gap(let gap): part.gaps.append(gap)
            case .rejected(let rejected): part.rejected.append(rejected)
            case .record(let range):
                if part.recordCount > 0, part.receivedAt != times[place] {
                    parts.append((part, bounds))
                    part = emptied(from: part.last + 1, part.lastLink)
                    bounds = .none
                }
                let record = records.slice(range)
                part.receivedAt = times[place]
                part.recordCount += 1
                PackedRecords.append(record, to: &part.records)
                if let envelope = record.withUnsafeBytes({ RecordEnvelope(scanning: $0) }) {
                    bounds.include(kind: envelope.kind, at: envelope.wallTime)
                }
                place += 1
            }
            part.last = number
            part.lastLink = link
        }
        parts.append((part, bounds))
        return parts
    }

    /// Nothing of the slice yet, to begin with a number.
    private func emptied(from number: UInt64, _ priorLink: ChainLink) -> StoredSlice {
        StoredSlice(
            id: id, first: number, last: number, lostBefore: 0, priorLink: priorLink, lastLink: priorLink,
            receivedAt: receivedAt, recordCount: 0)
    }
}

/// A record that the mark passed and that was not stored.
package struct RejectedRecord: Equatable, Sendable {
    package var number: UInt64
    package var reason: RejectReason
    /// Its size in bytes.
    package var size: Int
    /// `link(number)`.
    package var link: ChainLink
    /// Stored if it is small, so the chain can be proved over it.
    package var bytes: Data?

    /// Larger ones are not stored.
    static let keptBytes = 4096

    package init(number: UInt64, reason: RejectReason, size: Int, link: ChainLink, bytes: Data?) {
        self.number = number
        self.reason = reason
        self.size = size
        self.link = link
        self.bytes = bytes
    }
}

extension StoredSlice {
    /// - Parameter number: the mark's number before the slice.
    package init(_ slice: AcceptedSlice, after number: UInt64, receivedAt: Int64) {
        self.init(
            first: slice.first, last: slice.last, lostBefore: slice.first - 1 - number, priorLink: slice.priorLink,
            lastLink: slice.lastLink, receivedAt: receivedAt, recordCount: UInt64(slice.storedCount), gaps: slice.gaps,
            records: PackedRecords.pack(slice.records), rejected: slice.rejectedRecords)
    }
}

extension AcceptedSlice {
    /// How many of its records are stored.
    package var storedCount: Int { records.count { $0.rejection == nil } }

    /// The bounds of the records that are stored.
    package var bounds: RecordBounds {
        var bounds = RecordBounds.none
        for record in records where record.rejection == nil { bounds.include(kind: record.kind, at: record.wallTime) }
        return bounds
    }

    /// The records that are not stored, with their links.
    package var rejectedRecords: [RejectedRecord] {
        if storedCount == records.count { return [] }
        var rejected: [RejectedRecord] = []
        var running = priorLink
        var position = first - 1
        var gaps = gaps[...]
        for record in records {
            while let gap = gaps.first, gap.first == position + 1 {
                gaps.removeFirst()
                (running, position) = (gap.link, gap.last)
            }
            running = running.appending(record.bytes)
            position = record.number
            guard let reason = record.rejection else { continue }
            let isKept = record.bytes.count <= RejectedRecord.keptBytes
            rejected.append(
                RejectedRecord(
                    number: record.number, reason: reason, size: record.bytes.count, link: running,
                    bytes: isKept ? record.bytes : nil))
        }
        return rejected
    }
}

/// The records of one slice in one blob: each as a length of four bytes, little-endian, followed by its bytes. There is
/// nothing between them, so the blob's size is the sum.
package enum PackedRecords {
    static let lengthBytes = 4

    /// Packs the records that are stored.
    package static func pack(_ records: [AcceptedRecord]) -> Data {
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

    /// Adds a record behind the others.
    package static func append(_ record: some Collection<UInt8>, to packed: inout Data) {
        withUnsafeBytes(of: UInt32(record.count).littleEndian) { packed.append(contentsOf: $0) }
        packed.append(contentsOf: record)
    }

    /// The position of each record in the blob; `nil` if the lengths do not cover it.
    package static func ranges(_ blob: UnsafeRawBufferPointer) -> [Range<Int>]? {
        var ranges: [Range<Int>] = []
        return forEach(blob) { ranges.append($0) } ? ranges : nil
    }

    /// Counts the records without allocating.
    package static func count(_ blob: UnsafeRawBufferPointer) -> Int? {
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
