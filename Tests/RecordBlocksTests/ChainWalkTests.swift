import TestKit
import Testing

@testable import RecordBlocks

@Suite struct ChainWalkTests {
    /// Stands for SHA-256: what counts here is which bytes are linked, and in which order.
    private static func next(_ link: Bytes16, _ record: ArraySlice<UInt8>) -> Bytes16 {
        var (high, low) = (link.high ^ 0x9E37_79B9_7F4A_7C15, link.low)
        for byte in record {
            high = (high ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
            low = (low &+ high) ^ high >> 31
        }
        return Bytes16(high: high ^ low &* 3, low: low &+ UInt64(record.count))
    }

    /// Two modules whose records interleave, with a gap, a lost range and rejected records between.
    ///
    /// ```
    /// 1 … 40 records | 41 … 50 gap | 51 … 60 records | 61 … 65 lost | 66 … 90 records, 70 and 71 rejected
    /// ```
    private struct Fixture {
        var blocks: [RecordBlock] = []
        var end = Bytes16.zero

        init() {
            var modules = [BlockRecords(), BlockRecords()]
            var chain = ChainItems()
            var link = Bytes16.zero
            var points: [ChainItems.Point] = [.init(number: 0, link: link)]
            let samples = SampleRecords.samples(90, seed: 6)
            for number in 1...90 as ClosedRange<UInt64> {
                let bytes = samples[Int(number) - 1]
                switch number {
                case 41...49, 61...65: continue
                case 50:
                    link = Bytes16(high: 50, low: 50)
                    chain.gaps.append(.init(first: 41, last: 50, reason: 2, link: link))
                case 70, 71:
                    link = ChainWalkTests.next(link, bytes[...])
                    chain.rejected.append(
                        .init(
                            number: number, reason: 1, size: UInt64(bytes.count), link: link,
                            bytes: number == 70 ? bytes : nil))
                default:
                    if number == 66 {
                        link = Bytes16(high: 65, low: 65)
                        points.append(.init(number: 65, link: link))
                    }
                    link = ChainWalkTests.next(link, bytes[...])
                    modules[Int(number) % 2].append(number: number, receivedAt: 0, bytes)
                }
                if number % 20 == 0 { points.append(.init(number: number, link: link)) }
            }
            points.append(.init(number: 90, link: link))
            chain.lost = [.init(first: 61, last: 65)]
            end = link
            var key = SampleRecords.key
            for (place, records) in modules.enumerated() {
                key.module = [UInt8(place)]
                blocks.append(RecordBlock(key: key, records: records, chain: ChainItems(points: points)))
            }
            key.module = []
            blocks.append(RecordBlock(key: key, records: BlockRecords(), chain: chain))
        }
    }

    @Test func `A chain is proved from packed blocks alone, in any order`() throws {
        let fixture = Fixture()
        let packed = try fixture.blocks.map { try $0.pack() }
        var blocks: [RecordBlock] = []
        for bytes in packed.reversed() { blocks.append(try RecordBlock(unpacking: bytes[...])) }
        let walk = ChainWalk(blocks, next: Self.next)
        #expect(walk.findings.isEmpty)
        #expect(walk.counts == .init(stored: 73, rejected: 2, dropped: 10, lost: 5))
        #expect(walk.proved == 90)
        #expect(walk.last.number == 90)
        #expect(walk.last.link == fixture.end)
        #expect(ChainWalk(blocks, entry: .init(number: 0, link: .zero), next: Self.next).findings.isEmpty)
    }

    @Test func `A changed byte is found between two links`() {
        var blocks = Fixture().blocks
        var records = BlockRecords()
        for row in 0..<blocks[0].records.count {
            var bytes = Array(blocks[0].records[row])
            if blocks[0].records.numbers[row] == 30 { bytes[4] ^= 1 }
            records.append(number: blocks[0].records.numbers[row], receivedAt: 0, bytes)
        }
        blocks[0].records = records
        let walk = ChainWalk(blocks, next: Self.next)
        #expect(walk.findings == [.differs(40, proved: 20)])
        #expect(walk.proved == 90)
    }

    @Test func `Without a block its numbers are missing, and the rest goes on at the next link`() {
        let blocks = Fixture().blocks
        let walk = ChainWalk([blocks[1], blocks[2]], next: Self.next)
        let missing = walk.findings.map { finding -> ClosedRange<UInt64>? in
            if case .missing(let first, let last) = finding { return first...last }
            return nil
        }
        #expect(!missing.contains(nil))
        #expect(missing.compactMap { $0?.count }.reduce(0, +) == blocks[0].records.count)
        #expect(walk.counts.stored == UInt64(blocks[1].records.count))
    }

    @Test func `Another entry, a doubled block and a rejected record of other bytes are found`() {
        let blocks = Fixture().blocks
        let other = ChainWalk(blocks, entry: .init(number: 0, link: Bytes16(high: 1, low: 1)), next: Self.next)
        #expect(other.findings == [.differs(0, proved: 0)])

        let doubled = ChainWalk(blocks + [blocks[0]], next: Self.next)
        #expect(doubled.findings.count == blocks[0].records.count)
        #expect(doubled.findings.allSatisfy { if case .doubled = $0 { true } else { false } })

        var rejected = blocks
        rejected[2].chain.rejected[0].bytes?[3] ^= 1
        #expect(ChainWalk(rejected, next: Self.next).findings == [.differs(70, proved: 65)])
    }

    @Test func `Numbers at the end of their range do not trap`() {
        var records = BlockRecords()
        records.append(number: 0, receivedAt: 0, [])
        records.append(number: .max, receivedAt: 0, [])
        let block = RecordBlock(
            key: SampleRecords.key, records: records,
            chain: ChainItems(
                points: [.init(number: .max, link: .zero)], gaps: [.init(first: 0, last: .max, reason: 1, link: .zero)],
                lost: [.init(first: 1, last: .max)]))
        #expect(!ChainWalk([block], next: Self.next).findings.isEmpty)
        #expect(ChainWalk([], next: Self.next).counts == .init())
    }
}
