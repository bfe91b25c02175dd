/// Reads a block's bytes in order. Each read checks what is left, so that no bytes make it trap.
struct ByteReader {
    private let bytes: ArraySlice<UInt8>
    private(set) var position: Int

    init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        position = bytes.startIndex
    }

    var left: Int { bytes.endIndex - position }

    mutating func byte() throws(RecordBlockError) -> UInt8 {
        guard position < bytes.endIndex else { throw .malformed("a field is cut off") }
        defer { position += 1 }
        return bytes[position]
    }

    mutating func take(_ count: Int) throws(RecordBlockError) -> ArraySlice<UInt8> {
        guard count >= 0, count <= left else { throw .malformed("\(count) bytes are said to follow, \(left) do") }
        defer { position += count }
        return bytes[position..<(position + count)]
    }

    mutating func varint() throws(RecordBlockError) -> UInt64 {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while true {
            let byte = try byte()
            guard shift < 63 || byte <= 1 else { throw .malformed("a number has more than 64 bits") }
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
            shift += 7
        }
    }

    /// A number of things that is at most `limit`.
    mutating func count(atMost limit: Int, _ what: String) throws(RecordBlockError) -> Int {
        let value = try varint()
        guard value <= UInt64(limit) else { throw .malformed("\(value) \(what) are said to be there, \(limit) can be") }
        return Int(value)
    }

    mutating func signed() throws(RecordBlockError) -> Int64 {
        let value = try varint()
        return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
    }

    mutating func bigEndian() throws(RecordBlockError) -> UInt64 {
        var value: UInt64 = 0
        for byte in try take(8) { value = value << 8 | UInt64(byte) }
        return value
    }
}

/// Appends what `ByteReader` reads.
struct ByteWriter {
    private(set) var written: [UInt8] = []

    mutating func byte(_ value: UInt8) { written.append(value) }

    mutating func bytes(_ values: some Collection<UInt8>) { written.append(contentsOf: values) }

    mutating func varint(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            written.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        written.append(UInt8(rest))
    }

    mutating func count(_ value: Int) { varint(UInt64(value)) }

    mutating func signed(_ value: Int64) { varint(UInt64(bitPattern: (value << 1) ^ (value >> 63))) }

    mutating func bigEndian(_ value: UInt64) {
        for shift in stride(from: 56, through: 0, by: -8) { written.append(UInt8(truncatingIfNeeded: value >> shift)) }
    }

    mutating func littleEndian32(_ value: UInt32) {
        for shift in stride(from: 0, through: 24, by: 8) { written.append(UInt8(truncatingIfNeeded: value >> shift)) }
    }
}

extension UInt32 {
    /// Four bytes of a block that is long enough.
    init(littleEndian bytes: ArraySlice<UInt8>, at offset: Int) {
        let start = bytes.startIndex + offset
        self =
            UInt32(bytes[start]) | UInt32(bytes[start + 1]) << 8 | UInt32(bytes[start + 2]) << 16
            | UInt32(bytes[start + 3]) << 24
    }
}
