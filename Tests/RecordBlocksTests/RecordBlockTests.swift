import TestKit
import Testing

@testable import RecordBlocks

@Suite struct RecordBlockTests {
    @Test(arguments: [1, 2, 3, 7, 60, 500])
    func `Samples come back byte for byte and take a sixth of the room`(count: Int) throws {
        let block = SampleRecords.block(SampleRecords.samples(count, seed: 5))
        let (bytes, same) = try SampleRecords.roundTrip(block)
        #expect(same)
        if count >= 60 { #expect(bytes.count < block.records.rawBytes / 4) }
        if count >= 500 { #expect(bytes.count < block.records.rawBytes / 6) }
    }

    @Test(arguments: 0..<400 as Range<UInt64>) func `Any bytes come back`(seed: UInt64) throws {
        var dice = SplitMix64(seed: seed)
        let count = Int.random(in: 0...40, using: &dice)
        let depth = Int.random(in: 0...5, using: &dice)
        var records = (0..<count).map { _ in SampleRecords.anything(&dice, depth: depth) }
        // Shapes that repeat, with some that do not.
        if dice.chance(0.5) {
            for place in records.indices.dropFirst() where dice.chance(0.8) { records[place] = records[place - 1] }
        }
        if dice.chance(0.5) {
            for place in records.indices where !records[place].isEmpty && dice.chance(0.3) {
                let byte = Int.random(in: records[place].indices, using: &dice)
                records[place][byte] = UInt8.random(in: 0...255, using: &dice)
            }
        }
        #expect(try SampleRecords.roundTrip(SampleRecords.block(records)).same, "seed \(seed)")
    }

    @Test(arguments: 0..<60 as Range<UInt64>)
    func `Samples that are damaged here and there come back`(seed: UInt64) throws {
        var dice = SplitMix64(seed: seed)
        var records = SampleRecords.samples(80, seed: seed)
        for _ in 0..<Int.random(in: 1...20, using: &dice) {
            let place = Int.random(in: records.indices, using: &dice)
            let byte = Int.random(in: records[place].indices, using: &dice)
            switch Int.random(in: 0..<3, using: &dice) {
            case 0: records[place][byte] ^= 1 << UInt8.random(in: 0...7, using: &dice)
            case 1: records[place].removeSubrange(byte...)
            default: records[place].insert(UInt8.random(in: 0...255, using: &dice), at: byte)
            }
            if records[place].isEmpty { records[place] = [0] }
        }
        #expect(try SampleRecords.roundTrip(SampleRecords.block(records)).same, "seed \(seed)")
    }

    @Test func `No record, empty records and one byte come back`() throws {
        for records in [[], [[]], [[], [], []], [[0]], [[], [8, 1], []]] as [[[UInt8]]] {
            #expect(try SampleRecords.roundTrip(SampleRecords.block(records)).same, "\(records)")
        }
    }

    @Test func `Extreme numbers come back`() throws {
        let extremes: [UInt64] = [0, 1, .max, 1 << 63, 1 << 63 - 1, 0, .max, 0, 5, 1 << 32, .max - 1, 3]
        let records = extremes.map { value in
            var writer = FieldWriter()
            writer.varint(1, value)
            writer.fixed64(2, value)
            writer.varint(3, 0 &- value)
            return writer.bytes
        }
        #expect(try SampleRecords.roundTrip(SampleRecords.block(records)).same)
        for length in [9, 40] {
            let more = (0..<length).flatMap { _ in records }
            #expect(try SampleRecords.roundTrip(SampleRecords.block(more)).same)
        }
    }

    @Test func `Floating-point numbers come back bit for bit`() throws {
        let numbers: [Double] = [
            0, -0.0, .nan, .signalingNaN, .infinity, -.infinity, .leastNonzeroMagnitude, .greatestFiniteMagnitude,
            0.1, 21.5,
            1e22, 9_007_199_254_740_994, -9_007_199_254_740_992, 1 / 3, 1e-300,
        ]
        func records(_ values: [UInt64]) -> [[UInt8]] {
            values.map { value in
                var writer = FieldWriter()
                writer.fixed64(1, value)
                return writer.bytes
            }
        }
        let payloads = (0..<9).map { 0x7FF4_0000_0000_0000 | UInt64($0) << 3 }
        #expect(try SampleRecords.roundTrip(SampleRecords.block(records(numbers.map(\.bitPattern) + payloads))).same)
        for decimals in 0...10 {
            let power = (0..<decimals).reduce(1.0) { power, _ in power * 10 }
            let values = (0..<50).map { (Double($0 * 37 - 900) / power).bitPattern }
            #expect(try SampleRecords.roundTrip(SampleRecords.block(records(values))).same)
        }
    }

    @Test func `Messages nested a thousand deep come back`() throws {
        var inner: [UInt8] = [8, 1]
        for _ in 0..<1000 {
            var writer = FieldWriter()
            writer.bytes(1, inner)
            inner = writer.bytes
        }
        #expect(try SampleRecords.roundTrip(SampleRecords.block([inner, inner, [8, 2], inner])).same)
    }

    @Test func `A record of the greatest size comes back, and one with more fields than a tree has room for`() throws {
        var dice = SplitMix64(seed: 1)
        let large = (0..<(256 << 10)).map { _ in UInt8.random(in: 0...255, using: &dice) }
        var fields = FieldWriter()
        for field in 1...40_000 as ClosedRange<UInt64> { fields.varint(field, field) }
        var repeated = FieldWriter()
        for value in 0..<60_000 as Range<UInt64> { repeated.varint(1, value) }
        let block = SampleRecords.block([large, fields.bytes, [8, 1], repeated.bytes, []])
        #expect(try SampleRecords.roundTrip(block).same)
    }

    @Test func `Fields that come and go come back`() throws {
        var dice = SplitMix64(seed: 2)
        let records = (0..<300).map { _ in
            var writer = FieldWriter()
            for field in 1...20 as ClosedRange<UInt64> where dice.chance(0.5) {
                // Zeros that are written although protobuf would leave them out, in some columns.
                writer.varint(field, field < 10 ? 1 + dice.next() % 5 : dice.next() % 3)
            }
            return writer.bytes
        }
        #expect(try SampleRecords.roundTrip(SampleRecords.block(records)).same)
    }

    @Test func `A repeated field has a column for each place`() throws {
        let records = (0..<40).map { place in
            var writer = FieldWriter()
            for core in 0..<(place % 7) { writer.message(5) { $0.varint(1, UInt64(core * 1000 + place)) } }
            writer.text(6, "end")
            return writer.bytes
        }
        #expect(try SampleRecords.roundTrip(SampleRecords.block(records)).same)
    }

    @Test func `The same records give the same block`() throws {
        let block = SampleRecords.block(SampleRecords.samples(100, seed: 9))
        let first = try block.pack()
        for _ in 0..<3 { #expect(try block.pack() == first) }
    }

    @Test func `What costs more as columns is stored without them`() throws {
        var dice = SplitMix64(seed: 3)
        let records = (0..<50).map { _ in SampleRecords.anything(&dice, depth: 5) }
        let block = SampleRecords.block(records)
        let plain = try Deflate.compress(records.flatMap { $0 }).count
        #expect(try block.pack().count < plain + 50 * 4 + 250)
    }

    @Test func `The head tells what an index needs`() throws {
        let block = SampleRecords.block(SampleRecords.samples(60, seed: 4))
        let bytes = try block.pack()
        let (header, headBytes) = try BlockHeader.read(bytes.prefix(200))
        #expect(headBytes < 200)
        #expect(try BlockHeader.blockBytes(bytes.prefix(64)) == bytes.count)
        #expect(header.key == block.key)
        #expect(
            (header.recordCount, header.first, header.last)
                == (60, block.records.numbers.first, block.records.numbers.last))
        #expect((header.earliest, header.latest) == (block.earliest, block.latest))
        #expect(header.receivedFrom == block.records.receivedAt.first)
        #expect(header.receivedTo == block.records.receivedAt.last)
        #expect(header.rawBytes == block.records.rawBytes)
    }

    @Test func `What is no block is refused before it is packed`() {
        func code(_ block: RecordBlock) -> RecordBlockError.Code? {
            do {
                _ = try block.pack()
                return nil
            } catch { return error.code }
        }
        var descending = SampleRecords.block([[8, 1]])
        descending.records.append(number: 9, receivedAt: 0, [8, 2])
        #expect(code(descending) == .invalid)

        var named = SampleRecords.block([])
        named.key.module = Array(repeating: 65, count: 256)
        #expect(code(named) == .invalid)

        let many = SampleRecords.block(Array(repeating: [], count: BlockLimits.records + 1))
        #expect(code(many) == .limitExceeded)
        let large = SampleRecords.block(Array(repeating: Array(repeating: 0, count: 1 << 20), count: 4))
        #expect(code(large) == .limitExceeded)
    }

    @Test func `The most records that a block takes come back`() throws {
        let records = (0..<BlockLimits.records).map { [8, UInt8($0 % 128), 16, UInt8($0 / 600)] }
        let (bytes, same) = try SampleRecords.roundTrip(SampleRecords.block(records))
        #expect(same)
        #expect(bytes.count < 10_000)
    }
}
