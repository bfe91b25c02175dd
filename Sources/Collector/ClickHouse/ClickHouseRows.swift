import FoundationEssentials
import NIOCore

package typealias RowBinaryReader = ClickHouseRows

/// The rows of an answer, read one after the other.
///
/// The caller knows the columns and reads exactly one value for each:
///
///     while rows.next() {
///         let number = try rows.uint64()
///         let name = try rows.string()
///     }
///
/// Every read checks its bounds. A value that is cut, or a length beyond the end, is a `protocolViolation`.
package struct ClickHouseRows: Sendable {
    /// The server that answered; `nil` for rows that come from elsewhere.
    package let replica: ClickHouseReplica?
    private var buffer: ByteBuffer

    /// - Parameter buffer: rows in RowBinary.
    package init(_ buffer: ByteBuffer, from replica: ClickHouseReplica? = nil) {
        self.buffer = buffer
        self.replica = replica
    }

    package init(_ bytes: [UInt8]) { self.init(ByteBuffer(bytes: bytes)) }

    /// Bytes that are not read yet.
    package var remainingBytes: Int { buffer.readableBytes }

    /// Whether another row follows. Call it before each row.
    package func next() -> Bool { buffer.readableBytes > 0 }

    package mutating func uint8() throws(ClickHouseError) -> UInt8 { try integer() }
    package mutating func uint16() throws(ClickHouseError) -> UInt16 { try integer() }
    package mutating func uint32() throws(ClickHouseError) -> UInt32 { try integer() }
    package mutating func uint64() throws(ClickHouseError) -> UInt64 { try integer() }
    package mutating func int8() throws(ClickHouseError) -> Int8 { try integer() }
    package mutating func int16() throws(ClickHouseError) -> Int16 { try integer() }
    package mutating func int32() throws(ClickHouseError) -> Int32 { try integer() }
    package mutating func int64() throws(ClickHouseError) -> Int64 { try integer() }
    /// Float64.
    package mutating func double() throws(ClickHouseError) -> Double { Double(bitPattern: try integer()) }
    /// Days since 1970-01-01.
    package mutating func date() throws(ClickHouseError) -> UInt16 { try integer() }
    /// Seconds since 1970-01-01 00:00:00 UTC.
    package mutating func dateTime() throws(ClickHouseError) -> UInt32 { try integer() }

    /// A String as text. Bytes that are no UTF-8 become U+FFFD; use `data()` where they matter.
    package mutating func string() throws(ClickHouseError) -> String {
        String(buffer: try slice(try length("a string")))
    }

    /// A String as it is.
    package mutating func data() throws(ClickHouseError) -> Data {
        try slice(try length("a string")).withUnsafeReadableBytes { Data($0) }
    }

    /// A String as it is.
    package mutating func bytes() throws(ClickHouseError) -> [UInt8] {
        Array(try slice(try length("a string")).readableBytesView)
    }

    /// FixedString(`count`), with the zero bytes at its end.
    package mutating func fixedData(_ count: Int) throws(ClickHouseError) -> Data {
        try slice(count).withUnsafeReadableBytes { Data($0) }
    }

    /// FixedString(`count`), with the zero bytes at its end.
    package mutating func fixedBytes(_ count: Int) throws(ClickHouseError) -> [UInt8] {
        Array(try slice(count).readableBytesView)
    }

    /// The number of elements of an array. Read as many next.
    ///
    /// It is at most the number of bytes that follow, so a damaged answer cannot make a caller reserve more.
    package mutating func arrayCount() throws(ClickHouseError) -> Int { try length("an array") }

    /// Whether a Nullable column has no value. If it has one, read it next.
    package mutating func isNull() throws(ClickHouseError) -> Bool {
        let flag: UInt8 = try integer()
        guard flag <= 1 else {
            throw ClickHouseError(.protocolViolation, "a nullable value begins with \(flag), not with 0 or 1")
        }
        return flag == 1
    }

    /// A Nullable column.
    package mutating func nullable<Value>(
        _ read: (inout ClickHouseRows) throws(ClickHouseError) -> Value
    ) throws(ClickHouseError) -> Value? {
        try isNull() ? nil : try read(&self)
    }

    private mutating func integer<Value: FixedWidthInteger>() throws(ClickHouseError) -> Value {
        guard let value = buffer.readInteger(endianness: .little, as: Value.self) else {
            throw cut("a number of \(Value.bitWidth / 8) bytes")
        }
        return value
    }

    private mutating func slice(_ count: Int) throws(ClickHouseError) -> ByteBuffer {
        guard let slice = buffer.readSlice(length: count) else { throw cut("a value of \(count) bytes") }
        return slice
    }

    private mutating func length(_ what: String) throws(ClickHouseError) -> Int {
        var value: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 63, by: 7) {
            let byte: UInt8 = try integer()
            value |= UInt64(byte & 0x7F) << shift
            guard byte < 0x80 else { continue }
            guard value <= UInt64(buffer.readableBytes) else { throw cut("\(what) of length \(value)") }
            return Int(value)
        }
        throw ClickHouseError(.protocolViolation, "the length of \(what) has more than nine bytes")
    }

    private func cut(_ what: String) -> ClickHouseError {
        ClickHouseError(
            .protocolViolation,
            "the rows end inside \(what): \(buffer.readableBytes) bytes are left. Compare the query's columns with the "
                + "types that are read")
    }
}
