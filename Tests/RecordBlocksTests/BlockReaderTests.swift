import TestKit
import Testing

@testable import RecordBlocks

@Suite struct BlockReaderTests {
    /// The values of a path in a record, found by scanning it.
    private func scan(_ record: ArraySlice<UInt8>, _ path: ArraySlice<UInt32>) -> [UInt64] {
        let bytes = Array(record)
        return bytes.withUnsafeBufferPointer { buffer in
            var found: [UInt64] = []
            var scanner = CanonicalScanner(buffer, 0..<buffer.count)
            while let field = scanner.next() {
                guard field.number == path.first else { continue }
                if path.count == 1 {
                    found.append(field.value)
                } else {
                    found += scan(bytes[field.range], path.dropFirst())
                }
            }
            return found
        }
    }

    static let paths: [[UInt32]] = [
        [1], [4], [15, 2], [15, 4, 1], [15, 5, 4], [15, 9, 3], [15, 12], [15, 13], [15, 14], [15, 15],
    ]

    @Test(arguments: paths)
    func `A column read alone has the values that the records have`(path: [UInt32]) throws {
        let block = SampleRecords.block(SampleRecords.samples(120, seed: 8))
        var reader = try BlockReader(try block.pack()[...])
        let selection = try reader.columns(at: path)
        #expect(selection.unread.isEmpty)
        var values = [[UInt64]](repeating: [], count: block.records.count)
        for column in selection.columns {
            #expect(column.ordinals.count == path.count)
            let numbers: [UInt64] =
                switch column.content {
                case .varint(let numbers), .fixed64(let numbers): numbers
                case .fixed32(let numbers): numbers.map(UInt64.init)
                case .bytes: []
                }
            #expect(numbers.count == column.rows.count)
            for (row, number) in zip(column.rows, numbers) { values[row].append(number) }
        }
        for row in values.indices { #expect(values[row] == scan(block.records[row], path[...]), "record \(row)") }
        // Its presence, and the few that it is predicted from.
        #expect(reader.decodedColumns <= 8)
    }

    @Test func `Repeated messages are told apart`() throws {
        let block = SampleRecords.block(SampleRecords.samples(50, seed: 8))
        var reader = try BlockReader(try block.pack()[...])
        #expect(try reader.columns(at: [15, 5, 3]).columns.map(\.ordinals) == [[0, 0, 0], [0, 1, 0]])
        #expect(try reader.columns(at: [15, 77]).columns.isEmpty)
        #expect(try reader.columns(at: [15]).columns.isEmpty)
    }

    @Test func `Texts are read alone`() throws {
        let block = SampleRecords.block(SampleRecords.samples(120, seed: 8))
        var reader = try BlockReader(try block.pack()[...])
        let names = try reader.columns(at: [15, 1, 1])
        #expect(names.columns.map(\.rows) == [[0, 50, 100]])
        let expected = ["kiosk-0", "kiosk-50", "kiosk-100"].map { Array($0.utf8)[...] }
        #expect(names.columns.first?.content == .bytes(expected))
        #expect(try reader.numbers() == block.records.numbers)
        #expect(try reader.receivedAt() == block.records.receivedAt)
    }

    @Test func `Records that columns do not tell are named`() throws {
        var records = SampleRecords.samples(40, seed: 8)
        records[7] = [0x08, 0x89, 0x00]
        records[9] = SampleRecords.record(45, time: 1_796_019_326_300_671) { $0.varint(4, 1, padding: 1) }
        records[11] = SampleRecords.record(53, time: 1_796_019_326_300_671) { $0.text(4, "no message") }
        let block = SampleRecords.block(records)
        var reader = try BlockReader(try block.pack()[...])
        #expect(try reader.columns(at: [15, 4, 1]).unread == [7, 9, 11])
        #expect(try reader.columns(at: [15, 2]).unread == [7, 9])
        #expect(try reader.columns(at: [1]).unread == [7])
        #expect(try reader.block() == block)
    }

    @Test func `Columns can be read in any order, before and after the records`() throws {
        let block = SampleRecords.block(SampleRecords.samples(60, seed: 21))
        let bytes = try block.pack()
        let paths: [[UInt32]] = [[15, 5, 1], [15, 16], [15, 9, 3], [15, 1, 1], [15, 15]]
        var fresh: [ColumnSelection] = []
        for path in paths {
            var reader = try BlockReader(bytes[...])
            fresh.append(try reader.columns(at: path))
        }
        var reader = try BlockReader(bytes[...])
        for (path, expected) in zip(paths, fresh).reversed() { #expect(try reader.columns(at: path) == expected) }
        #expect(try reader.block() == block)
        for (path, expected) in zip(paths, fresh) { #expect(try reader.columns(at: path) == expected) }
    }

    @Test func `A block may lie anywhere in a larger piece of memory`() throws {
        let block = SampleRecords.block(SampleRecords.samples(20, seed: 1))
        let bytes = try block.pack()
        let larger = [1, 2, 3] + bytes + [4]
        #expect(try RecordBlock(unpacking: larger[3..<(3 + bytes.count)]) == block)
    }
}
