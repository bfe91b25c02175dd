import Foundation
import TestKit
import Testing

@testable import RecordBlocks

@Suite struct RecordBlockDamageTests {
    /// A block of everything: columns of each kind, and opaque records.
    static let mixed: RecordBlock = {
        var records = SampleRecords.samples(8, seed: 11)
        records[3] = [0x08, 0x89, 0x00]
        records[5] = []
        return SampleRecords.block(records)
    }()

    private func code(_ bytes: [UInt8]) -> RecordBlockError.Code? {
        do {
            _ = try RecordBlock(unpacking: bytes[...])
            return nil
        } catch { return error.code }
    }

    @Test func `Every flip of a bit is found`() throws {
        let bytes = try Self.mixed.pack()
        for bit in 0..<(bytes.count * 8) {
            var flipped = bytes
            flipped[bit / 8] ^= 1 << (bit % 8)
            #expect(code(flipped) != nil, "bit \(bit)")
        }
    }

    @Test func `Every truncation is found, and bytes too many`() throws {
        let bytes = try Self.mixed.pack()
        for count in bytes.indices { #expect(code(Array(bytes.prefix(count))) != nil, "\(count) bytes") }
        #expect(code(bytes + [0]) == .malformed)
        #expect(code(Array(bytes.dropLast())) == .truncated)
    }

    @Test func `A damaged block is named by its head`() throws {
        var bytes = try Self.mixed.pack()
        bytes[bytes.count - 10] ^= 1
        let error = try #require(throws: RecordBlockError.self) { try RecordBlock(unpacking: bytes[...]) }
        #expect(error.code == .damaged)
        for part in ["1ff058fb6e5b4fbf897880a9865a60a6", "module system", "numbers 9 to 37"] {
            #expect(error.message.contains(part), "\(error.message)")
        }
    }

    @Test func `A newer version and other bytes are refused by name`() throws {
        var bytes = try Self.mixed.pack()
        bytes[4] = 2
        #expect(code(bytes) == .newerVersion)
        bytes[0] = 0
        #expect(code(bytes) == .notABlock)
        #expect(code([]) == .truncated)
    }

    /// Puts the right checksums behind changed content.
    private func sealed(_ content: [UInt8]) -> [UInt8] {
        var bytes = content
        guard bytes.count >= BlockHeader.fixedBytes + BlockHeader.checksumBytes else { return bytes }
        func put(_ value: UInt32, at place: Int) {
            for index in 0..<4 { bytes[place + index] = UInt8(truncatingIfNeeded: value >> UInt32(8 * index)) }
        }
        put(UInt32(bytes.count), at: 5)
        let head = min(
            BlockHeader.fixedBytes + Int(bytes[13]) + Int(bytes[14]) << 8, bytes.count - BlockHeader.checksumBytes)
        put(Deflate.checksum(bytes[..<9] + bytes[13..<max(head, 13)]), at: 9)
        put(Deflate.checksum(bytes.dropLast(4)), at: bytes.count - 4)
        return bytes
    }

    private func read(_ bytes: [UInt8]) -> RecordBlockError.Code? {
        do {
            var reader = try BlockReader(bytes[...])
            _ = try? reader.columns(at: [15, 4, 1])
            _ = try? reader.columns(at: [15, 1, 1])
            _ = try reader.block()
            return nil
        } catch { return error.code }
    }

    /// How many blocks the fuzzers try; `WS1_FUZZ_ROUNDS` multiplies it.
    private static let rounds = Int(ProcessInfo.processInfo.environment["WS1_FUZZ_ROUNDS"] ?? "") ?? 1

    @Test func `Blocks that lie are refused or read as another block, and never take much memory`() throws {
        let before = try peakKilobytes()
        var dice = SplitMix64(seed: 77)
        let originals = try [
            Self.mixed, SampleRecords.block(SampleRecords.samples(30, seed: 3)), SampleRecords.block([]),
            SampleRecords.block([[], [1], [8, 1]]),
            SampleRecords.block(Array(repeating: [8, 1, 18, 1, 65], count: 400)),
        ].map { try $0.pack() }
        var refused = 0
        for _ in 0..<(4000 * Self.rounds) {
            var bytes = originals.randomElement(using: &dice) ?? []
            for _ in 0..<Int.random(in: 1...4, using: &dice) {
                let place = Int.random(in: bytes.indices, using: &dice)
                switch Int.random(in: 0..<5, using: &dice) {
                case 0: bytes[place] ^= 1 << UInt8.random(in: 0...7, using: &dice)
                case 1: bytes[place] = [0, 1, 0x7F, 0x80, 0xFF].randomElement(using: &dice) ?? 0
                case 2: bytes[place] = UInt8.random(in: 0...255, using: &dice)
                case 3: bytes.insert(0xFF, at: place)
                default: if bytes.count > 30 { bytes.remove(at: place) }
                }
            }
            if read(sealed(bytes)) != nil { refused += 1 }
        }
        #expect(refused > 1000 * Self.rounds)
        #expect(try peakKilobytes() - before < 512 << 10)
    }

    /// The description is compressed, so a change of its bytes rarely gets past zlib. Here the inflated one is
    /// changed.
    @Test func `Trees that lie are refused or read as another block`() throws {
        let before = try peakKilobytes()
        var dice = SplitMix64(seed: 78)
        let originals = try [
            Self.mixed, SampleRecords.block(SampleRecords.samples(30, seed: 3)),
            SampleRecords.block(Array(repeating: [8, 1, 18, 1, 65], count: 400)),
        ].map { block in try BlockSections(try block.pack()) }
        var refused = 0
        for round in 0..<(6000 * Self.rounds) {
            guard var block = originals.randomElement(using: &dice) else { break }
            for _ in 0..<Int.random(in: 1...3, using: &dice) {
                func mutate(_ bytes: inout [UInt8]) {
                    guard !bytes.isEmpty else { return }
                    let place = Int.random(in: bytes.indices, using: &dice)
                    switch Int.random(in: 0..<5, using: &dice) {
                    case 0: bytes[place] ^= 1 << UInt8.random(in: 0...7, using: &dice)
                    case 1: bytes[place] = [0, 1, 0x7F, 0x80, 0xFF].randomElement(using: &dice) ?? 0
                    case 2: bytes.insert(contentsOf: [0xFF, 0xFF, 0xFF, 0xFF, 0x0F], at: place)
                    case 3: bytes.remove(at: place)
                    default: bytes[place] = UInt8.random(in: 0...255, using: &dice)
                    }
                }
                switch Int.random(in: 0..<8, using: &dice) {
                case 0: mutate(&block.texts)
                case 1: mutate(&block.columns)
                case 2: block.header.recordCount = [0, 1, 1000, BlockLimits.records].randomElement(using: &dice) ?? 0
                case 3: block.header.rawBytes = [0, 10, 5000, BlockLimits.rawBytes].randomElement(using: &dice) ?? 0
                default: mutate(&block.description)
                }
            }
            let bytes = try block.assembled()
            if read(bytes) != nil { refused += 1 }
            if round % 100 == 0 { #expect(read(try originals[0].assembled()) == nil) }
        }
        #expect(refused > 3000 * Self.rounds)
        #expect(try peakKilobytes() - before < 512 << 10)
    }

    @Test func `Counts without bytes are refused before they are believed`() throws {
        var block = try BlockSections(try SampleRecords.block(SampleRecords.samples(30, seed: 3)).pack())
        block.header.recordCount = BlockLimits.records
        #expect(read(try block.assembled()) == .malformed)
        block.header.rawBytes = BlockLimits.rawBytes
        #expect(read(try block.assembled()) == .malformed)
        // As many children as a number can say.
        block.description = [0x03, 0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F]
        #expect(read(try block.assembled()) == .malformed)
    }

    private func peakKilobytes() throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
        return try #require(Int(line.split(separator: " ", omittingEmptySubsequences: true)[1]))
    }
}

/// A block in pieces, inflated, so that a test can change one.
struct BlockSections: Equatable {
    var header: BlockHeader
    var description: [UInt8]
    var texts: [UInt8]
    var columns: [UInt8]

    init(_ bytes: [UInt8]) throws {
        let (header, headBytes) = try BlockHeader.read(bytes[...])
        self.header = header
        var reader = ByteReader(bytes.dropFirst(headBytes))
        description = try Deflate.inflate(
            try reader.take(header.description.storedBytes), count: header.description.inflatedBytes)
        texts = try Deflate.inflate(try reader.take(header.texts.storedBytes), count: header.texts.inflatedBytes)
        columns = Array(try reader.take(header.columnBytes))
    }

    /// The block with right sizes of sections and right checksums, whatever else it says.
    func assembled() throws -> [UInt8] {
        let storedDescription = try Deflate.compress(description)
        let storedTexts = try Deflate.compress(texts)
        var header = header
        header.description = .init(storedBytes: storedDescription.count, inflatedBytes: description.count)
        header.texts = .init(storedBytes: storedTexts.count, inflatedBytes: texts.count)
        header.columnBytes = columns.count
        return try header.assemble(description: storedDescription, texts: storedTexts, columns: columns)
    }
}
