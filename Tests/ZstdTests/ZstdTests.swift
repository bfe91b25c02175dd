import Foundation
import TestKit
import Testing

@testable import Zstd

@Suite struct ZstdTests {
    private static func text(_ bytes: Int, seed: UInt64 = 1) -> Data {
        var generator = SplitMix64(seed: seed)
        return Data((0..<bytes).map { _ in UInt8.random(in: 97...104, using: &generator) })
    }

    private static func frame(_ bytes: Data, level: Int = 1) throws -> Data {
        try #require(bytes.withUnsafeBytes { ZstdCodec(level: level).compress($0) })
    }

    private static func decompress(_ frame: Data, limit: Int = 1 << 20) -> Data? {
        frame.withUnsafeBytes { ZstdCodec().decompress($0, limit: limit) }
    }

    private static func stream(_ bytes: Data, limit: Int = 1 << 20, step: Int = .max) throws -> Data {
        let decompressor = try ZstdDecompressor(limit: limit)
        var output = Data()
        var rest = bytes
        while !rest.isEmpty {
            try rest.prefix(step).withUnsafeBytes { try decompressor.update($0) { output.append(contentsOf: $0) } }
            rest = Data(rest.dropFirst(step))
        }
        try decompressor.finish()
        #expect(decompressor.bytesIn == bytes.count && decompressor.bytesOut == output.count)
        return output
    }

    private static func code(_ body: () throws -> Data) -> ZstdError.Code? {
        do { _ = try body() } catch { return (error as? ZstdError)?.code }
        return nil
    }

    @Test(arguments: [-1, 1, 3], [2, 100, 4096, 300_000])
    func `What is compressed comes back, whole and in pieces`(level: Int, bytes: Int) throws {
        let text = Self.text(bytes) + Data(count: 40)
        let frame = try Self.frame(text, level: level)
        #expect(frame.count < text.count)
        #expect(frame.prefix(4).elementsEqual(withUnsafeBytes(of: ZstdCodec.magic.littleEndian, Array.init)))
        #expect(Self.decompress(frame) == text)
        for step in [1, 1000, .max] where step > 1 || bytes <= 4096 {
            #expect(try Self.stream(frame, step: step) == text)
            #expect(try Self.stream(frame + frame, limit: 2 << 20, step: step) == text + text, "two frames")
        }
    }

    @Test func `What would not become shorter is not compressed`() {
        var generator = SplitMix64(seed: 3)
        let noise = Data((0..<5000).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
        let codec = ZstdCodec()
        for bytes in [noise, Data(), Data([1]), Data([1, 2, 3])] {
            #expect(bytes.withUnsafeBytes { codec.compress($0) } == nil)
        }
    }

    @Test func `Limits hold exactly, and no frame is believed`() throws {
        let bomb = try Self.frame(Data(count: 5000))
        #expect(bomb.count < 100 && Self.decompress(bomb, limit: 5000)?.count == 5000)
        #expect(Self.decompress(bomb, limit: 4999) == nil)
        #expect(try Self.stream(bomb, limit: 5000).count == 5000)
        #expect(Self.code { try Self.stream(bomb, limit: 4999) } == .limitExceeded)
        // A frame that says it needs 16 MiB of memory, with one byte in it.
        let wide = Data([0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x70, 0x09, 0x00, 0x00, 0x61])
        #expect(Self.code { try Self.stream(wide) } == .corrupt)
        // The same with 8 MiB.
        let decompressor = try ZstdDecompressor(limit: 10)
        let before = decompressor.memory
        try (wide[..<5] + [0x68] + wide[6...]).withUnsafeBytes { try decompressor.update($0) { _ in } }
        #expect(decompressor.memory >= before + 8 << 20, "and what it takes is counted")
        // A size of 4 GiB in the header.
        let huge = Data([0x28, 0xB5, 0x2F, 0xFD, 0xA0, 0xFF, 0xFF, 0xFF, 0xFF, 0x09, 0x00, 0x00, 0x61])
        #expect(Self.decompress(huge) == nil)
    }

    @Test func `Frames that end early or are damaged are refused`() throws {
        let text = Self.text(3000)
        let frame = try Self.frame(text)
        #expect(Self.code { try Self.stream(Data()) } == .truncated)
        for count in 1..<frame.count {
            #expect(Self.decompress(frame.prefix(count)) == nil)
            #expect(Self.code { try Self.stream(frame.prefix(count)) } == .truncated, "\(count) bytes")
        }
        #expect(Self.code { try Self.stream(text) } == .corrupt)
        #expect(Self.code { try Self.stream(frame + [0x61, 0x62, 0x63, 0x64]) } == .corrupt)
        // No flipped bit crashes or exceeds the limit.
        for place in frame.indices {
            var damaged = frame
            damaged[place] ^= 0x10
            #expect((Self.decompress(damaged, limit: 4096)?.count ?? 0) <= 4096)
            _ = try? Self.stream(damaged, limit: 4096)
        }
    }
}
