/// Walks the fields of one protobuf message without decoding what they hold. Total: any bytes end in `isAtEnd` or a stop.
package struct ProtobufScanner {
    package enum Value {
        case varint(UInt64)
        /// Position of the bytes within the message.
        case bytes(Range<Int>)
        case fixed64
        case fixed32
    }

    private let bytes: UnsafeRawBufferPointer
    /// Behind the last field that was walked over.
    package private(set) var position = 0
    private var failed = false

    /// The buffer must outlive the scanner.
    package init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    /// Whether the message was walked to its end; `false` after a malformed field.
    package var isAtEnd: Bool { !failed && position == bytes.count }

    /// The next field; `nil` at the end or where the bytes are not protobuf.
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
