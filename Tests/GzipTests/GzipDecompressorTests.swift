import Testing
import TestKit

@testable import Gzip

@Suite struct GzipDecompressorTests {
    func feed(_ bytes: [UInt8], pieces: Int, limits: InflateLimits = .standard) throws(GzipError) -> [UInt8] {
        let decompressor = try GzipDecompressor(limits: limits)
        var result: [UInt8] = []
        var start = 0
        while start < bytes.count {
            let piece = Array(bytes[start..<min(start + pieces, bytes.count)])
            try piece.withUnsafeBufferPointer { (buffer) throws(GzipError) in
                try decompressor.update(UnsafeRawBufferPointer(buffer)) { result.append(contentsOf: $0) }
            }
            start += pieces
        }
        try decompressor.finish()
        return result
    }

    @Test(arguments: [1, 2, 3, 7, 1000, 65_536]) func `Pieces of any size give the same as all at once`(pieces: Int)
        throws
    {
        let bytes = Samples.mixed(90_000)
        let stream = try GzipCodec.compress(bytes) + GzipCodec.compress([5]) + GzipCodec.compress(bytes, level: 0)
        #expect(try feed(stream, pieces: pieces) == bytes + [5] + bytes)
        for garbage: [UInt8] in [[0], [0x1F, 0], [0, 0, 0]] {
            #expect(
                #expect(throws: GzipError.self) { try feed(stream + garbage, pieces: pieces) }?.code == .trailingGarbage
            )
        }
        #expect(
            #expect(throws: GzipError.self) { try feed(Array(stream.dropLast(3)), pieces: pieces) }?.code == .truncated)
    }

    @Test func `Exactly the limit is accepted, and one byte more is not`() throws {
        for count in [0, 1, 32_767, 32_768, 32_769, 100_000] {
            let compressed = try GzipCodec.compress(Samples.mixed(count))
            #expect(try GzipCodec.decompress(compressed, limits: .init(maximumBytes: count)).count == count)
            guard count > 0 else { continue }
            let error = #expect(throws: GzipError.self) {
                try GzipCodec.decompress(compressed, limits: .init(maximumBytes: count - 1))
            }
            #expect(error?.code == .limitExceeded)
        }
    }

    @Test func `The limit counts all members together`() throws {
        let member = try GzipCodec.compress(Samples.mixed(1000))
        #expect(try GzipCodec.decompress(member + member, limits: .init(maximumBytes: 2000)).count == 2000)
        let three = member + member + member
        let error = #expect(throws: GzipError.self) {
            try GzipCodec.decompress(three, limits: .init(maximumBytes: 2000))
        }
        #expect(error?.code == .limitExceeded)
    }

    @Test func `A bomb is stopped while it grows`() throws {
        let compressor = try GzipCompressor(level: 9)
        var bomb: [UInt8] = []
        let zeros = [UInt8](repeating: 0, count: 1 << 20)
        for _ in 0..<100 {
            try zeros.withUnsafeBytes { try compressor.update($0) { bomb.append(contentsOf: $0) } }
        }
        try compressor.finish { bomb.append(contentsOf: $0) }
        #expect(bomb.count < 200_000)

        let limits = InflateLimits(maximumBytes: 1 << 30)
        let decompressor = try GzipDecompressor(limits: limits)
        var produced = 0
        let error = #expect(throws: GzipError.self) {
            try bomb.withUnsafeBytes { try decompressor.update($0) { produced += $0.count } }
        }
        #expect(error?.code == .ratioExceeded)
        #expect(produced <= bomb.count * limits.maximumRatio)

        let wide = try GzipDecompressor(limits: .init(maximumBytes: 5 << 20, maximumRatio: 100_000))
        produced = 0
        let limit = #expect(throws: GzipError.self) {
            try bomb.withUnsafeBytes { try wide.update($0) { produced += $0.count } }
        }
        #expect(limit?.code == .limitExceeded)
        #expect(produced <= 5 << 20)
    }

    @Test func `Little output may have any ratio`() throws {
        let zeros = [UInt8](repeating: 0, count: 64 << 10)
        #expect(try GzipCodec.decompress(GzipCodec.compress(zeros)) == zeros)
        let error = #expect(throws: GzipError.self) { try GzipCodec.decompress(GzipCodec.compress(zeros + zeros)) }
        #expect(error?.code == .ratioExceeded)
    }

    @Test func `A failed decompressor stays failed until reset`() throws {
        let decompressor = try GzipDecompressor()
        let garbage: [UInt8] = [1, 2, 3, 4]
        let sound = try GzipCodec.compress([7, 8])
        #expect(throws: GzipError.self) { try garbage.withUnsafeBytes { try decompressor.update($0) { _ in } } }
        #expect(throws: GzipError.self) { try sound.withUnsafeBytes { try decompressor.update($0) { _ in } } }
        #expect(throws: GzipError.self) { try decompressor.finish() }
        decompressor.reset()
        var result: [UInt8] = []
        try sound.withUnsafeBytes { try decompressor.update($0) { result.append(contentsOf: $0) } }
        try decompressor.finish()
        #expect(result == [7, 8])
        #expect(decompressor.bytesOut == 2 && decompressor.members == 1 && decompressor.bytesIn == sound.count)
    }

    @Test func `Random bytes never crash it`() throws {
        var generator = SplitMix64(seed: 11)
        let sound = try GzipCodec.compress(Samples.mixed(3000))
        for round in 0..<2000 {
            var bytes = sound
            for _ in 0..<Int.random(in: 1...8, using: &generator) {
                bytes[Int.random(in: 0..<bytes.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
            }
            if round.isMultiple(of: 2) {
                bytes = Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &generator)))
            }
            _ = try? GzipCodec.decompress(bytes, limits: .init(maximumBytes: 100_000))
        }
    }
}
