import FoundationEssentials
import WireModel

/// The records of one slice in one blob: each as four bytes of length, little-endian, and its bytes. What is between them is nothing, so
/// the blob's size is the sum.
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
                record.bytes.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: packed[position...]).copyMemory(from: $0) }
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
