import FoundationEssentials

/// Builds rows in ClickHouse's RowBinary format: the values of a row in the order of the columns, one row after the
/// other, with nothing between them.
///
/// Integers are little-endian. A string has its length before it. The caller knows the columns and appends exactly one
/// value for each, then calls `rowEnded()`. A value of another type makes the server read garbage.
package struct RowBinaryWriter: Sendable {
    package private(set) var bytes: [UInt8] = []
    /// Rows that have ended.
    package private(set) var rowCount = 0
    /// Where the last complete row ends.
    private var endOfRows = 0

    /// - Parameter capacity: bytes to reserve.
    package init(capacity: Int = 0) { bytes.reserveCapacity(capacity) }

    package var byteCount: Int { bytes.count }
    /// Whether nothing was appended since the last row ended.
    package var isAtRowEnd: Bool { endOfRows == bytes.count }

    package mutating func rowEnded() {
        rowCount += 1
        endOfRows = bytes.count
    }

    package mutating func uint8(_ value: UInt8) { bytes.append(value) }
    package mutating func uint16(_ value: UInt16) { append(value) }
    package mutating func uint32(_ value: UInt32) { append(value) }
    package mutating func uint64(_ value: UInt64) { append(value) }
    package mutating func int8(_ value: Int8) { append(value) }
    package mutating func int16(_ value: Int16) { append(value) }
    package mutating func int32(_ value: Int32) { append(value) }
    package mutating func int64(_ value: Int64) { append(value) }
    /// Float64.
    package mutating func double(_ value: Double) { append(value.bitPattern) }
    /// - Parameter days: since 1970-01-01.
    package mutating func date(_ days: UInt16) { append(days) }
    /// - Parameter seconds: since 1970-01-01 00:00:00 UTC.
    package mutating func dateTime(_ seconds: UInt32) { append(seconds) }

    package mutating func string(_ value: String) {
        var value = value
        value.withUTF8 { string(bytes: UnsafeRawBufferPointer($0)) }
    }

    package mutating func string(_ value: [UInt8]) { value.withUnsafeBytes { string(bytes: $0) } }
    package mutating func string(_ value: Data) { value.withUnsafeBytes { string(bytes: $0) } }

    package mutating func string(bytes value: UnsafeRawBufferPointer) {
        length(value.count)
        bytes.append(contentsOf: value)
    }

    /// FixedString(`count`). A shorter value ends with zero bytes.
    /// - Precondition: the value has at most `count` bytes.
    package mutating func fixedString(_ value: some Collection<UInt8>, count: Int) {
        let rest = count - value.count
        precondition(rest >= 0, "a value of \(value.count) bytes does not fit FixedString(\(count))")
        bytes.append(contentsOf: value)
        bytes.append(contentsOf: repeatElement(0, count: rest))
    }

    /// Begins an array. Append as many elements next.
    package mutating func array(count: Int) { length(count) }

    /// A Nullable column without a value.
    package mutating func null() { bytes.append(1) }
    /// A Nullable column with a value. Append the value next.
    package mutating func notNull() { bytes.append(0) }

    /// A Nullable column.
    package mutating func nullable<Value>(_ value: Value?, _ write: (inout RowBinaryWriter, Value) -> Void) {
        guard let value else { return null() }
        notNull()
        write(&self, value)
    }

    /// Seven bits in each byte, the lowest first. The highest bit says that more follow.
    private mutating func length(_ count: Int) {
        var rest = UInt64(count)
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    private mutating func append(_ value: some FixedWidthInteger) {
        withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
    }
}
