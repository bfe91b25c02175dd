import DeviceTestKit
import FoundationEssentials
import LogStore
import Testing
import WireModel

@Suite struct SegmentIndexTests {
    private let name = SegmentName(ordinal: 5, kind: .application)

    private func sample(bytes: Int = 200_000) throws -> SegmentIndex {
        let store = try TemporaryStore()
        var log = SampleLog(seed: 1)
        return try #require(try store.seal(name, log.segment(name.ordinal, bytes: bytes)).index)
    }

    @Test func `An index is read back as it was`() throws {
        let index = try sample()
        #expect(index.blocks.count == 4)
        #expect(try SegmentIndex(text: index.text, path: "x") == index)
    }

    /// The form, byte by byte: what other programs may read.
    @Test func `The text is as documented`() throws {
        let stretch = SegmentIndex.Stretch(
            rawBytes: 100, storedBytes: 60, first: LogNumber(segment: 5, position: 1), lines: 2,
            times: 1_795_305_088_123_456...1_795_305_131_000_000, levelCounts: [0, 2, 0, 0])
        let index = SegmentIndex(
            epoch: LogEpochID(high: 1, low: 2), whole: stretch, last: LogNumber(segment: 5, position: 2),
            rawDigest: Data(repeating: 0xAB, count: 32), storedDigest: Data(repeating: 0xCD, count: 32),
            blocks: [SegmentIndex.Block(storedOffset: 0, rawOffset: 0, stretch: stretch)])
        let expected = """
            ws1log-index 1
            epoch 00000000000000010000000000000002 key - nonce -
            lines 2 first 5000001 last 5000002 raw 100 stored 60
            times 1795305088123456 1795305131000000
            levels 0 2 0 0
            raw-sha256 \(String(repeating: "ab", count: 32))
            stored-sha256 \(String(repeating: "cd", count: 32))
            block 0 0 100 60 5000001 2 1795305088123456 1795305131000000 0 2 0 0
            sum 
            """
        let text = String(decoding: index.text, as: UTF8.self)
        #expect(text.hasPrefix(expected))
        #expect(text.utf8.count == expected.utf8.count + 33)
    }

    @Test func `Truncated at any byte, it is damaged`() throws {
        let text = try sample(bytes: 70_000).text
        for length in 0..<text.count { expectDamaged(text.prefix(length)) }
        expectDamaged(text + Data([UInt8(ascii: "\n")]))
    }

    @Test func `With any bit flipped, it is damaged`() throws {
        let text = try sample(bytes: 70_000).text
        for position in text.indices {
            for bit in 0..<8 {
                var flipped = text
                flipped[position] ^= 1 << bit
                expectDamaged(flipped)
            }
        }
    }

    @Test func `A greater version is refused by name`() throws {
        let text = resummed(
            String(decoding: try sample().text, as: UTF8.self).replacing("index 1\n", with: "index 3\n"))
        #expect { try SegmentIndex(text: text, path: "x") } throws: { ($0 as? LogStoreError)?.code == .newer }
    }

    @Test(arguments: [
        ("lines ", "lines 0"), ("raw ", "raw 1"), ("block 0 ", "block 1 "), ("levels ", "levels 1"),
        ("last ", "last 1"),
        ("key -", "key 7"), ("block", "BLOCK"), ("times ", "times 9"), ("stored ", "stored +"),
        ("raw ", "raw 99999999999999999999"),
    ])
    func `What does not add up is damaged`(_ change: (from: String, to: String)) throws {
        let text = String(decoding: try sample().text, as: UTF8.self)
        let start = try #require(text.firstRange(of: change.from))
        expectDamaged(resummed(text[..<start.lowerBound] + change.to + text[start.upperBound...]))
    }

    @Test func `An index under another segment's name is damaged`() throws {
        let store = try TemporaryStore()
        var log = SampleLog(seed: 1)
        let other = SegmentName(ordinal: 6, kind: .application)
        try store.seal(name, log.segment(name.ordinal, bytes: 1_000))
        try store.write(try store.read(name.file(.index)), other.file(.index))
        #expect { try SegmentIndex(other, in: store.directory) } throws: { ($0 as? LogStoreError)?.code == .damaged }
    }

    private func expectDamaged(_ text: Data, sourceLocation: SourceLocation = #_sourceLocation) {
        // Thousands of times: the macro only where it says something.
        do {
            _ = try SegmentIndex(text: text, path: "x")
            Issue.record("taken for whole", sourceLocation: sourceLocation)
        } catch {
            if error.code != .damaged { Issue.record(error, sourceLocation: sourceLocation) }
        }
    }

    /// With the sum that fits the text.
    private func resummed(_ text: some StringProtocol) -> Data {
        let body = text[..<(text.firstRange(of: "\nsum ")?.lowerBound ?? text.endIndex)] + "\n"
        return Data((body + "sum \(Digest.hexadecimal(Array(body.utf8)).prefix(32))\n").utf8)
    }
}
