import Testing

@testable import Gzip

@Suite struct GzipCompressorTests {
    @Test(arguments: [1, 1000, 70_000]) func `Pieces give a stream of the same content`(pieces: Int) throws {
        let bytes = Samples.mixed(150_000)
        let compressor = try GzipCompressor()
        var result: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: pieces) {
            let piece = Array(bytes[start..<min(start + pieces, bytes.count)])
            try piece.withUnsafeBytes { try compressor.update($0) { result.append(contentsOf: $0) } }
        }
        try compressor.finish { result.append(contentsOf: $0) }
        #expect(try GzipCodec.decompress(result) == bytes)
        #expect(try result == GzipCodec.compress(bytes))
    }

    @Test func `One compressor serves many bodies as if it were new`() throws {
        let compressor = try GzipCompressor()
        for count in [0, 10, 50_000, 3] {
            let bytes = Samples.mixed(count)
            #expect(try compressor.compress(bytes) == GzipCodec.compress(bytes))
        }
    }

    @Test func `What was not finished is forgotten by the next body`() throws {
        let compressor = try GzipCompressor()
        let bytes = Samples.mixed(5000)
        try bytes.withUnsafeBytes { try compressor.update($0) { _ in } }
        #expect(try compressor.compress([1, 2]) == GzipCodec.compress([1, 2]))
    }

    @Test func `Feeding after the end begins another member`() throws {
        let compressor = try GzipCompressor()
        var result: [UInt8] = []
        for bytes in [Samples.mixed(500), [], [9]] {
            try bytes.withUnsafeBytes { try compressor.update($0) { result.append(contentsOf: $0) } }
            try compressor.finish { result.append(contentsOf: $0) }
        }
        #expect(try GzipCodec.decompress(result) == Samples.mixed(500) + [9])
    }

    @Test func `After a flush, all that was fed can be read`() throws {
        let compressor = try GzipCompressor()
        let decompressor = try GzipDecompressor()
        var read: [UInt8] = []
        var fed: [UInt8] = []
        for count in [1, 100, 40_000] {
            let bytes = Samples.mixed(count)
            fed += bytes
            var output: [UInt8] = []
            try bytes.withUnsafeBytes { try compressor.update($0) { output.append(contentsOf: $0) } }
            try compressor.flush { output.append(contentsOf: $0) }
            try output.withUnsafeBytes { try decompressor.update($0) { read.append(contentsOf: $0) } }
            #expect(read == fed)
        }
    }
}
