import Crypto
import Foundation
import Gzip
import RegistryTestKit
import Testing
import WireModel

@testable import LogArchive

@Suite struct ChunkScanTests {
    private static func scan(_ gzip: Data, of text: Data) throws -> ChunkScan {
        try ChunkScan(gzip, rawBytes: text.count, rawDigest: Data(SHA256.hash(data: text)))
    }

    @Test func `Stretches tile the file, and each is gzip of whole lines`() throws {
        let (text, gzip) = try LogDevice.chunk(segment: 3, 1...5000, padding: 80)
        let scan = try Self.scan(gzip, of: text)
        let pieces = try #require(scan.runs[3])
        #expect(scan.runs.count == 1 && pieces.count > 5)
        var (offset, inflated, lines) = (UInt64(0), Data(), UInt64(0))
        for piece in pieces {
            #expect(piece.storedOffset == offset)
            offset += UInt64(piece.storedBytes)
            let part = try GzipCodec.decompress(gzip[Int(piece.storedOffset)..<Int(offset)])
            #expect(part.count == piece.rawBytes && part.last == UInt8(ascii: "\n"))
            inflated += part
            lines += piece.levelCounts.reduce(0, +)
        }
        #expect(offset == gzip.count && inflated == text && lines == 5000)
        #expect(scan.levels == [500, 0, 4500, 0] && scan.otherLines == 0)
        #expect(scan.numbers == 3_000_001...3_005_000)
        #expect(scan.storedDigest == Data(SHA256.hash(data: gzip)))
    }

    @Test func `One member of everything is one stretch`() throws {
        let (text, _) = try LogDevice.chunk(segment: 1, 1...3000)
        let scan = try Self.scan(try GzipCodec.compress(text), of: text)
        #expect(scan.runs[1]?.count == 1)
    }

    @Test func `A member that ends inside a line ends no stretch`() throws {
        let (text, _) = try LogDevice.chunk(segment: 1, 1...3000)
        let middle = text.count / 2 + 1
        let gzip = try GzipCodec.compress(text[..<middle]) + GzipCodec.compress(text[middle...])
        let pieces = try #require(try Self.scan(gzip, of: text).runs[1])
        #expect(pieces.count == (text[middle - 1] == UInt8(ascii: "\n") ? 2 : 1))
        #expect(pieces.reduce(0) { $0 + Int($1.rawBytes) } == text.count)
    }

    @Test func `Lines of several segments are runs of their own over the same stretches`() throws {
        let (first, second) = (try LogDevice.chunk(segment: 1, 1...50), try LogDevice.chunk(segment: 2, 1...50))
        let text = first.text + second.text
        let scan = try Self.scan(try GzipCodec.compress(text), of: text)
        #expect(scan.runs.count == 2 && scan.runs[1]?.first?.storedOffset == scan.runs[2]?.first?.storedOffset)
        #expect(scan.runs[1]?.first?.lastNumber == 1_000_050 && scan.runs[2]?.first?.firstNumber == 2_000_001)
    }

    @Test func `Lines without a form are counted, and the last needs no end`() throws {
        let text = Data("what is this\n2026-03-01T12:00:00.000000Z E 1000001 app x".utf8)
        let scan = try Self.scan(try GzipCodec.compress(text), of: text)
        #expect(scan.otherLines == 1 && scan.levels == [1, 0, 0, 0])
    }

    @Test func `A line for every segment is refused before the index is larger than the log`() throws {
        let text = Data(
            (1...40_000).map { "2026-03-01T12:00:00.000000Z E \($0)000001 a x\n" }.joined().utf8)
        #expect(throws: UploadError.self) { try Self.scan(try GzipCodec.compress(text), of: text) }
    }

    /// Text counts against the quota: what fills the disk without any is refused.
    @Test func `Gzip that inflates to nothing is refused`() throws {
        let text = Data("x\n".utf8)
        let gzip = try GzipCodec.compress(text)
        let empty = try GzipCodec.compress(Data())
        // Flag FNAME in the head, the name behind its ten bytes.
        var named = gzip
        named[3] = 8
        named.insert(contentsOf: Data(repeating: 0x61, count: 5000) + [0], at: 10)
        // A stored block that is empty and not the last, again and again, before the rest of the member.
        var blocks = gzip
        blocks.insert(contentsOf: [UInt8]((0..<1000).flatMap { _ in [0, 0, 0, 0xFF, 0xFF] as [UInt8] }), at: 10)
        for padded in [gzip + (0..<300).reduce(Data()) { all, _ in all + empty }, named, blocks] {
            #expect(try GzipCodec.decompress(padded) == text)
            #expect(throws: UploadError.self) { try Self.scan(padded, of: text) }
        }
        #expect(try Self.scan(gzip + (0..<100).reduce(Data()) { all, _ in all + empty }, of: text).rawBytes == 2)
    }

    /// A member for each of the shortest lines is the most a device makes of a text.
    @Test func `A member for each of the shortest lines is accepted`() throws {
        let lines = (0..<2000).map { Data("2026-03-01T12:00:00.\(100_000 + $0 * 37)Z E \($0 % 9 + 1)000001 a \n".utf8) }
        let gzip = try lines.reduce(Data()) { try $0 + GzipCodec.compress($1, level: 0) }
        #expect(try Self.scan(gzip, of: lines.reduce(Data(), +)).otherLines == 0)
    }

    @Test func `Truncated at any byte, it is damaged`() throws {
        let (text, gzip) = try LogDevice.chunk(segment: 1, 1...5)
        for length in 0..<gzip.count {
            #expect(throws: UploadError.self) { try Self.scan(gzip.prefix(length), of: text) }
        }
    }

    @Test func `Pieces are read as they were written`() throws {
        let (text, gzip) = try LogDevice.chunk(segment: 3, 1...5000, padding: 80)
        let pieces = try #require(try Self.scan(gzip, of: text).runs[3])
        let bytes = LogPiece.encode(pieces)
        #expect(bytes.count == 64 * pieces.count)
        #expect(bytes.withUnsafeBytes { LogPiece.decode($0) } == pieces)
        #expect(bytes.dropLast().withUnsafeBytes { LogPiece.decode($0) } == nil)
        var damaged = bytes
        damaged[damaged.startIndex + 7] |= 0x80
        #expect(damaged.withUnsafeBytes { LogPiece.decode($0) } == nil, "no file has such an offset")
    }
}
