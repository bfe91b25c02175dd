import FoundationEssentials
import Testing

@testable import ClickHouse

@Suite struct RowBinaryTests {
    @Test func `Values have the bytes of the format`() {
        var writer = RowBinaryWriter()
        writer.uint8(1)
        writer.uint16(0x0203)
        writer.uint32(0x0405_0607)
        writer.uint64(0x08)
        writer.int32(-2)
        writer.int64(-1)
        writer.double(1)
        writer.string("né")
        writer.fixedString([9, 8], count: 4)
        writer.array(count: 300)
        writer.null()
        writer.notNull()
        writer.date(0x0102)
        writer.dateTime(0x0304_0506)
        let expected: [UInt8] =
            [1, 3, 2, 7, 6, 5, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0xFE, 0xFF, 0xFF, 0xFF]
            + [UInt8](repeating: 0xFF, count: 8) + [0, 0, 0, 0, 0, 0, 0xF0, 0x3F] + [3, 0x6E, 0xC3, 0xA9]
            + [9, 8, 0, 0] + [0xAC, 0x02] + [1, 0] + [2, 1] + [6, 5, 4, 3]
        #expect(writer.bytes == expected)
        #expect(writer.byteCount == expected.count)
    }

    @Test func `Rows are counted, and a row that has begun is reported from an ended one`() {
        var writer = RowBinaryWriter()
        #expect(writer.isAtRowEnd)
        writer.uint8(1)
        #expect(!writer.isAtRowEnd)
        writer.rowEnded()
        #expect(writer.isAtRowEnd)
        #expect(writer.rowCount == 1)
    }

    /// One row of all types.
    private static func sample() -> RowBinaryWriter {
        var writer = RowBinaryWriter()
        writer.uint8(200)
        writer.int16(-300)
        writer.uint64(.max)
        writer.double(-0.5)
        writer.string([UInt8](repeating: 7, count: 200))
        writer.string(Data([0, 0xFF]))
        writer.fixedString([1, 2, 3], count: 3)
        writer.array(count: 2)
        writer.uint32(5)
        writer.uint32(6)
        writer.nullable(nil as Int64?) { $0.int64($1) }
        writer.nullable(-9) { $0.int64($1) }
        writer.rowEnded()
        return writer
    }

    /// Returns whether the values are those of the sample.
    private static func read(_ rows: inout ClickHouseRows) throws(ClickHouseError) -> Bool {
        var isSame = try rows.uint8() == 200
        isSame = try rows.int16() == -300 && isSame
        isSame = try rows.uint64() == .max && isSame
        isSame = try rows.double() == -0.5 && isSame
        isSame = try rows.bytes() == [UInt8](repeating: 7, count: 200) && isSame
        isSame = try rows.data() == Data([0, 0xFF]) && isSame
        isSame = try rows.fixedBytes(3) == [1, 2, 3] && isSame
        isSame = try rows.arrayCount() == 2 && isSame
        isSame = try rows.uint32() == 5 && isSame
        isSame = try rows.uint32() == 6 && isSame
        isSame = try rows.nullable { (rows) throws(ClickHouseError) in try rows.int64() } == nil && isSame
        isSame = try rows.nullable { (rows) throws(ClickHouseError) in try rows.int64() } == -9 && isSame
        return isSame
    }

    @Test func `What is written is read`() throws {
        var rows = ClickHouseRows(Self.sample().bytes + Self.sample().bytes)
        var count = 0
        while rows.next() {
            #expect(try Self.read(&rows))
            count += 1
        }
        #expect(count == 2)
    }

    @Test func `Rows cut at any byte are an error, never other values`() {
        let bytes = Self.sample().bytes
        for length in 1..<bytes.count {
            var rows = ClickHouseRows(Array(bytes[..<length]))
            #expect(rows.next())
            do throws(ClickHouseError) {
                _ = try Self.read(&rows)
                Issue.record("cut at \(length): read whole")
            } catch {
                #expect(error.code == .protocolViolation, "cut at \(length)")
            }
        }
    }

    @Test(arguments: [
        // Longer than what follows; longer than any memory; without an end.
        [5, 1, 2], [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F], [UInt8](repeating: 0xFF, count: 20),
    ])
    func `A length beyond the end is an error before anything is reserved`(bytes: [UInt8]) {
        var text = ClickHouseRows(bytes)
        #expect(throws: ClickHouseError.self) { try text.string() }
        var array = ClickHouseRows(bytes)
        #expect(throws: ClickHouseError.self) { try array.arrayCount() }
    }
}
