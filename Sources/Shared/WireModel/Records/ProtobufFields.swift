import FoundationEssentials

/// Walks through the fields of one Protobuf message without decoding their contents. For any bytes it ends in `isAtEnd`
/// or stops.
package struct ProtobufScanner {
    package enum Value {
        case varint(UInt64)
        /// The position of the bytes in the message.
        case bytes(Range<Int>)
        case fixed64
        case fixed32
    }

    private let bytes: UnsafeRawBufferPointer
    /// The position after the last field.
    package private(set) var position = 0
    private var failed = false

    /// The buffer must outlive the scanner.
    package init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    /// Whether the walk reached the end; `false` after a malformed field.
    package var isAtEnd: Bool { !failed && position == bytes.count }

    /// The next field; `nil` at the end, or if the bytes are malformed.
    package mutating func next() -> (number: Int, value: Value)? {
        guard !failed, position < bytes.count else { return nil }
        guard let tag = varint(), tag >> 3 >= 1, tag >> 3 < 1 << 29 else { return fail() }
        let number = Int(tag >> 3)
        switch tag & 7 {
        case 0:
            guard let value = varint() else { return fail() }
            return (number, .varint(value))
        case 1: return advance(8) ? (number, .fixed64) : fail()
        case 2:
            guard let length = varint(), length <= UInt64(bytes.count - position) else { return fail() }
            let range = position..<(position + Int(length))
            position = range.upperBound
            return (number, .bytes(range))
        case 5: return advance(4) ? (number, .fixed32) : fail()
        default: return fail()
        }
    }

    private mutating func varint() -> UInt64? {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            if shift == 63, byte > 1 { return nil }
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
            shift += 7
            if shift > 63 { return nil }
        }
        return nil
    }

    private mutating func advance(_ count: Int) -> Bool {
        guard bytes.count - position >= count else { return false }
        position += count
        return true
    }

    private mutating func fail() -> (number: Int, value: Value)? {
        failed = true
        return nil
    }
}

/// Appends Protobuf fields. As in proto3, zero and empty values are left out.
///
/// Used for the record envelope, which is made once per record on the hot path with a fixed order of fields; for fields
/// that the privacy filter replaces; and for what a batch holds beside its records. swift-protobuf serializes all other
/// messages.
package struct ProtobufWriter {
    package private(set) var written: [UInt8] = []

    package init(reserving capacity: Int) {
        written.reserveCapacity(capacity)
    }

    mutating func varint(field: Int, _ value: UInt64) {
        guard value != 0 else { return }
        append(UInt64(field << 3))
        append(value)
    }

    mutating func bytes(field: Int, _ value: Data) {
        guard !value.isEmpty else { return }
        append(UInt64(field << 3 | 2))
        append(UInt64(value.count))
        written.append(contentsOf: value)
    }

    mutating func text(field: Int, _ value: String) {
        guard !value.isEmpty else { return }
        append(UInt64(field << 3 | 2))
        append(UInt64(value.utf8.count))
        written.append(contentsOf: value.utf8)
    }

    /// Writes a field even if its value is empty, as for members of a oneof and `optional` fields.
    package mutating func present(field: Int, bytes value: some Collection<UInt8>) {
        append(UInt64(field << 3 | 2))
        append(UInt64(value.count))
        written.append(contentsOf: value)
    }

    package mutating func present(field: Int, varint value: UInt64) {
        append(UInt64(field << 3))
        append(value)
    }

    package mutating func present(field: Int, double value: Double) {
        append(UInt64(field << 3 | 1))
        withUnsafeBytes(of: value.bitPattern.littleEndian) { written.append(contentsOf: $0) }
    }

    /// Writes a message whose fields are already serialized in several pieces.
    package mutating func present(field: Int, pieces: [UnsafeRawBufferPointer]) {
        append(UInt64(field << 3 | 2))
        append(UInt64(pieces.reduce(0) { $0 + $1.count }))
        for piece in pieces { written.append(contentsOf: piece) }
    }

    /// Appends serialized fields.
    package mutating func raw(_ fields: UnsafeRawBufferPointer) {
        written.append(contentsOf: fields)
    }

    private mutating func append(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            written.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        written.append(UInt8(rest))
    }
}
