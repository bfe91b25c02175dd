import TestKit
import Testing

@testable import Intake

@Suite struct JournalExportParserTests {
    private typealias Entry = JournalExportParser.Entry
    private typealias Field = JournalExportParser.Field

    private static func binary(_ name: String, _ data: [UInt8], size: UInt64? = nil) -> [UInt8] {
        let size = size ?? UInt64(data.count)
        var bytes = Array(name.utf8)
        bytes.append(10)
        for index in 0..<8 { bytes.append(UInt8(truncatingIfNeeded: size >> UInt64(8 * index))) }
        bytes += data
        bytes.append(10)
        return bytes
    }

    /// The entries of bytes that come in pieces of at most so many.
    private func entries(
        _ bytes: [UInt8], pieces: Int = .max, _ parser: JournalExportParser = JournalExportParser()
    ) -> (entries: [Entry], parser: JournalExportParser) {
        var parser = parser
        var found: [Entry] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            Array(rest.prefix(pieces)).withUnsafeBytes { bytes in parser.add(bytes) { found.append($0) } }
            rest = rest.dropFirst(pieces)
        }
        return (found, parser)
    }

    private static let sample: [UInt8] = {
        var bytes = Array("__CURSOR=s=1;i=2\nMESSAGE=a=b\nEMPTY=\n".utf8)
        bytes += binary("RAW", [0, 10, 10, 255])
        bytes += binary("NONE", [])
        bytes += Array("\nMESSAGE=second\n\n".utf8)
        return bytes
    }()

    private static let sampleEntries = [
        Entry(fields: [
            Field(name: "__CURSOR", value: Array("s=1;i=2".utf8)), Field(name: "MESSAGE", value: Array("a=b".utf8)),
            Field(name: "EMPTY"), Field(name: "RAW", value: [0, 10, 10, 255]), Field(name: "NONE"),
        ]),
        Entry(fields: [Field(name: "MESSAGE", value: Array("second".utf8))]),
    ]

    @Test func `Fields of text and of bytes are read, and an empty line ends an entry`() {
        let (found, read) = entries(Self.sample)
        var parser = read
        #expect(found == Self.sampleEntries)
        #expect(found[0]["MESSAGE"]?.value == Array("a=b".utf8))
        #expect(found[0]["ABSENT"] == nil)
        let isTorn = parser.finish()
        #expect(!isTorn && parser.fault == nil)
    }

    @Test func `Entries do not depend on the pieces in which they come`() {
        for split in 0...Self.sample.count {
            var parser = JournalExportParser()
            var found: [Entry] = []
            for piece in [Array(Self.sample[..<split]), Array(Self.sample[split...])] {
                piece.withUnsafeBytes { bytes in parser.add(bytes) { found.append($0) } }
            }
            #expect(found == Self.sampleEntries, "split at \(split)")
        }
        #expect(entries(Self.sample, pieces: 1).entries == Self.sampleEntries)
    }

    @Test func `A torn end gives no entry, wherever it is torn`() {
        let first = Self.sample.count - "MESSAGE=second\n\n".utf8.count
        for end in 0..<Self.sample.count {
            let (found, read) = entries(Array(Self.sample[..<end]))
            var parser = read
            #expect(found == (end < first ? [] : [Self.sampleEntries[0]]), "torn at \(end)")
            let isTorn = parser.finish()
            #expect(isTorn == (end != 0 && end != first), "torn at \(end)")
            // What follows a restart is read as from the beginning.
            var again: [Entry] = []
            Self.sample.withUnsafeBytes { bytes in parser.add(bytes) { again.append($0) } }
            #expect(again == Self.sampleEntries, "torn at \(end)")
        }
    }

    @Test func `Values over the limits are cut and counted, and the next entry is whole`() {
        let limits = JournalExportParser.Limits(fieldBytes: 4, entryBytes: 10, fields: 3)
        let bytes =
            Array("A=123456\n".utf8) + Self.binary("B", Array("abcdef".utf8)) + Array("C=uvwxyz\nD=1\n\nA=1\n\n".utf8)
        for pieces in [1, 3, 7, Int.max] {
            let found = entries(bytes, pieces: pieces, JournalExportParser(limits: limits)).entries
            #expect(
                found == [
                    Entry(
                        fields: [
                            Field(name: "A", value: Array("1234".utf8), leftOutBytes: 2),
                            Field(name: "B", value: Array("abcd".utf8), leftOutBytes: 2),
                            Field(name: "C", value: Array("uv".utf8), leftOutBytes: 4),
                        ], leftOutFields: 1),
                    Entry(fields: [Field(name: "A", value: Array("1".utf8))]),
                ])
        }
    }

    @Test func `Fields without a name or with an endless one are left out and counted`() {
        let name = String(repeating: "N", count: 10_000)
        let bytes = Array("=x\n\(name)=y\n".utf8) + Self.binary(name, [1, 2]) + Array("A=1\n\n\n\n".utf8)
        let found = entries(bytes, pieces: 100).entries
        #expect(found == [Entry(fields: [Field(name: "A", value: [UInt8(ascii: "1")])], leftOutFields: 3)])
    }

    @Test func `Fields that nobody wants are passed by`() {
        let found = entries(Self.sample, JournalExportParser(wanted: ["MESSAGE"])).entries
        #expect(found.map { $0.fields.map(\.name) } == [["MESSAGE"], ["MESSAGE"]])
        #expect(found.allSatisfy { $0.leftOutFields == 0 })
    }

    @Test(arguments: [1 << 31, UInt64(Int64.max), 1 << 63, .max] as [UInt64])
    func `A size that no field has stops the parser`(size: UInt64) {
        let bytes = Self.binary("A", [1, 2, 3], size: size) + Array("\nMESSAGE=x\n\n".utf8)
        for pieces in [1, Int.max] {
            let (found, parser) = entries(bytes, pieces: pieces)
            #expect(found.isEmpty && parser.fault == .size(size))
        }
    }

    @Test func `Data that is longer than its size stops the parser`() {
        let (found, parser) = entries(Self.binary("A", [1, 2, 3], size: 2) + Array("\nB=1\n\n".utf8))
        #expect(found.isEmpty && parser.fault == .end(field: "A"))
    }

    @Test func `A value that never ends is read in bounded memory`() {
        var parser = JournalExportParser(limits: .init(fieldBytes: 8))
        Array("A=".utf8).withUnsafeBytes { bytes in parser.add(bytes) { _ in } }
        let piece = [UInt8](repeating: UInt8(ascii: "x"), count: 1 << 16)
        for _ in 0..<64 { piece.withUnsafeBytes { bytes in parser.add(bytes) { _ in } } }
        var found: [Entry] = []
        Array("\n\n".utf8).withUnsafeBytes { bytes in parser.add(bytes) { found.append($0) } }
        #expect(
            found.first?["A"]
                == Field(
                    name: "A", value: [UInt8](repeating: UInt8(ascii: "x"), count: 8), leftOutBytes: (64 << 16) - 8))
    }

    @Test func `Any bytes in any pieces give the same entries and the same fault`() {
        var random = SplitMix64(seed: 11)
        for round in 0..<2_000 {
            var bytes: [UInt8] = []
            for _ in 0..<Int.random(in: 1...12, using: &random) {
                let data = (0..<Int.random(in: 0...12, using: &random)).map { _ in
                    UInt8.random(in: 0...255, using: &random)
                }
                switch Int.random(in: 0..<5, using: &random) {
                case 0: bytes += Array("N=".utf8) + data + [10]
                case 1: bytes += Self.binary("B", data)
                case 2: bytes += Self.binary("B", data, size: UInt64.random(in: 0...20, using: &random))
                case 3: bytes += [10]
                default: bytes += data
                }
            }
            let limits = JournalExportParser.Limits(fieldBytes: 6, entryBytes: 20, fields: 3)
            let whole = entries(bytes, JournalExportParser(limits: limits))
            for pieces in [1, 2, 5] {
                let split = entries(bytes, pieces: pieces, JournalExportParser(limits: limits))
                #expect(split.entries == whole.entries && split.parser == whole.parser, "round \(round)")
            }
            for entry in whole.entries {
                #expect(entry.fields.count <= 3)
                #expect(entry.fields.allSatisfy { $0.value.count <= 6 })
                #expect(entry.fields.reduce(0) { $0 + $1.value.count } <= 20)
            }
        }
    }
}
