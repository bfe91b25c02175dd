import Foundation
import Testing

@testable import Gzip

@Suite struct GzipCodecTests {
    @Test(arguments: [0, 1, 2, 100, 32_767, 32_768, 32_769, 1_000_003], [0, 1, 6, 9])
    func `What went in comes out`(count: Int, level: Int) throws {
        let bytes = Samples.mixed(count)
        let compressed = try GzipCodec.compress(bytes, level: level)
        #expect(Array(compressed.prefix(2)) == [0x1F, 0x8B])
        #expect(try GzipCodec.decompress(compressed) == bytes)
        #expect(try GzipCodec.compress(Data(bytes), level: level) == Data(compressed))
        #expect(try GzipCodec.decompress(Data(compressed)) == Data(bytes))
        #expect(try bytes.withUnsafeBytes { try GzipCodec.compress($0, level: level) } == compressed)
        #expect(try compressed.withUnsafeBytes { try GzipCodec.decompress($0) } == bytes)
    }

    @Test func `A slice of data is read as the slice it is`() throws {
        let data = Data(Samples.mixed(5000))
        let slice = data[1000..<2000]
        let compressed = try GzipCodec.compress(slice)
        #expect(try GzipCodec.decompress((Data([9, 9]) + compressed)[2...]) == slice)
    }

    @Test(arguments: [-1, 10, .max]) func `Another level is refused`(level: Int) {
        #expect(#expect(throws: GzipError.self) { try GzipCodec.compress([1], level: level) }?.code == .misuse)
    }

    @Test func `The same input gives the same bytes`() throws {
        let bytes = Samples.mixed(10_000)
        #expect(try GzipCodec.compress(bytes) == GzipCodec.compress(bytes))
        // No time and no name in the head.
        #expect(Array(try GzipCodec.compress(bytes).prefix(8)) == [0x1F, 0x8B, 8, 0, 0, 0, 0, 0])
    }

    @Test func `A known member of another program is read`() throws {
        // printf 'hello\n' | gzip -n
        let member: [UInt8] = [
            0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 0xCB, 0x48, 0xCD, 0xC9, 0xC9, 0xE7, 2, 0, 0x20, 0x30, 0x3A, 0x36, 6, 0,
            0, 0,
        ]
        #expect(try GzipCodec.decompress(member) == Array("hello\n".utf8))
    }

    @Test func `A member with name and time is read`() throws {
        let plain = try GzipCodec.compress(Array("content".utf8))
        var member = plain
        member[3] = 8  // a name follows
        member.replaceSubrange(4..<8, with: [1, 2, 3, 4])
        member.insert(contentsOf: Array("name.log\u{0}".utf8), at: 10)
        #expect(try GzipCodec.decompress(member) == Array("content".utf8))
    }

    @Test func `Ends inside a member are truncated at every byte`() throws {
        let member = try GzipCodec.compress(Samples.mixed(700))
        for length in 0..<member.count {
            let error = #expect(throws: GzipError.self, "\(length)") {
                try GzipCodec.decompress(Array(member.prefix(length)))
            }
            #expect(error?.code == .truncated, "\(length)")
        }
    }

    @Test func `A flipped bit is an error or the same bytes`() throws {
        let bytes = Samples.mixed(600)
        let member = try GzipCodec.compress(bytes)
        for index in member.indices {
            for bit in 0..<8 {
                var damaged = member
                damaged[index] ^= 1 << bit
                do throws(GzipError) {
                    // Nothing covers flags, time and system in the head, nor the padding that fills the last byte
                    // before the checksum.
                    #expect(try GzipCodec.decompress(damaged) == bytes, "byte \(index) bit \(bit)")
                    #expect(
                        (3..<10).contains(index) || index == member.count - 9, "byte \(index) bit \(bit) went unnoticed"
                    )
                } catch {
                    #expect(
                        [.corrupt, .truncated, .trailingGarbage].contains(error.code),
                        "byte \(index) bit \(bit): \(error)")
                }
            }
        }
    }

    @Test func `A wrong checksum and a wrong length are corrupt`() throws {
        let member = try GzipCodec.compress(Samples.mixed(600))
        for index in member.count - 8..<member.count {
            var damaged = member
            damaged[index] ^= 0xFF
            #expect(#expect(throws: GzipError.self) { try GzipCodec.decompress(damaged) }?.code == .corrupt)
        }
    }

    @Test func `Members one after the other are one stream`() throws {
        let (first, second) = (Samples.mixed(40_000), Samples.mixed(123))
        let stream = try GzipCodec.compress(first) + GzipCodec.compress([]) + GzipCodec.compress(second)
        #expect(try GzipCodec.decompress(stream) == first + second)
        let error = #expect(throws: GzipError.self) { try GzipCodec.decompress(Array(stream.dropLast())) }
        #expect(error?.code == .truncated)
    }

    @Test(arguments: [[0], [0, 0, 0, 0], [0x1F, 0x8C], [0x1E, 0x8B], Array("garbage".utf8)])
    func `Anything else after a member is garbage`(garbage: [UInt8]) throws {
        let stream = try GzipCodec.compress([1, 2, 3]) + garbage
        #expect(#expect(throws: GzipError.self) { try GzipCodec.decompress(stream) }?.code == .trailingGarbage)
    }

    @Test(arguments: ["not gzip at all", "\u{78}\u{5E}zlib, not gzip", "\u{1F}"])
    func `What is not gzip is a typed error`(text: String) {
        let error = #expect(throws: GzipError.self) { try GzipCodec.decompress(Array(text.utf8)) }
        #expect(error?.code == (text.utf8.count == 1 ? .truncated : .corrupt))
    }
}
