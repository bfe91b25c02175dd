import TestKit
import Testing

@testable import Intake

@Suite struct SyslogFramerTests {
    private typealias Frame = SyslogFramer.Frame

    /// The frames of bytes that come in pieces of at most so many, and are ended.
    private func frames(_ bytes: [UInt8], pieces: Int = .max, limit: Int = 32_768) -> [Frame] {
        var framer = SyslogFramer(limit: limit)
        var found: [Frame] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            Array(rest.prefix(pieces)).withUnsafeBytes { bytes in framer.add(bytes) { found.append($0) } }
            rest = rest.dropFirst(pieces)
        }
        framer.finish { found.append($0) }
        return found
    }

    private func texts(_ text: String, pieces: Int = .max) -> [String] {
        frames(Array(text.utf8), pieces: pieces).map { String(decoding: $0.text, as: UTF8.self) }
    }

    @Test func `Octet counting and line ends are told apart for each frame`() {
        let stream = "10 <13>1 - - \n<14>two\n7 <15>a\nb<16>three\r\n<17>four\u{0}6 <18>xy8 <19>last"
        let expected = ["<13>1 - - ", "<14>two", "<15>a\nb", "<16>three", "<17>four", "<18>xy", "<19>last"]
        for pieces in [1, 2, 3, 7, Int.max] { #expect(texts(stream, pieces: pieces) == expected) }
    }

    @Test func `A number that is no length is text`() {
        #expect(
            texts("12 monkeys\n2026-11-29 text\n007 <13>x\n12345678901 <1>y\n5\n") == [
                "12 monkeys", "2026-11-29 text", "007 <13>x", "12345678901 <1>y", "5",
            ])
    }

    @Test func `What is open at the end is a frame`() {
        #expect(texts("<13>no end") == ["<13>no end"])
        #expect(texts("100 <13>torn") == ["<13>torn"])
        #expect(texts("12") == ["12"])
        #expect(texts("\n\u{0}\r\n").isEmpty)
    }

    @Test func `Of a long frame the first bytes are kept, and the next one is whole`() {
        let long = String(repeating: "x", count: 100)
        for pieces in [1, 9, Int.max] {
            let found = frames(Array("<1>\(long)\n103 <2>\(long)<3>a".utf8), pieces: pieces, limit: 20)
            #expect(found.map(\.text.count) == [20, 20, 4])
            #expect(found.map(\.leftOutBytes) == [83, 83, 0])
        }
    }

    @Test func `A length that never comes keeps bounded memory`() {
        var framer = SyslogFramer(limit: 64)
        var found: [Frame] = []
        Array("999999999 <1>".utf8).withUnsafeBytes { bytes in framer.add(bytes) { found.append($0) } }
        let piece = [UInt8](repeating: 10, count: 1 << 16)
        for _ in 0..<32 { piece.withUnsafeBytes { bytes in framer.add(bytes) { found.append($0) } } }
        #expect(found.isEmpty && framer.isOpen)
        framer.finish { found.append($0) }
        #expect(found.map(\.text.count) == [64] && found.first?.leftOutBytes == 3 + (32 << 16) - 64)
    }

    @Test func `Any bytes in any pieces give the same frames, and no byte is unaccounted for`() {
        var random = SplitMix64(seed: 20)
        for round in 0..<3_000 {
            var bytes: [UInt8] = []
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                let text = (0..<Int.random(in: 0...30, using: &random)).map { _ in
                    UInt8.random(in: 0...255, using: &random)
                }
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes += Array("\(text.count + 3) <1>".utf8) + text
                case 1: bytes += Array("<13>".utf8) + text + [10]
                case 2: bytes += Array("\(Int.random(in: 0...40, using: &random)) <".utf8)
                default: bytes += text
                }
            }
            let whole = frames(bytes, limit: 24)
            for pieces in [1, 2, 5] { #expect(frames(bytes, pieces: pieces, limit: 24) == whole, "round \(round)") }
            #expect(whole.allSatisfy { !$0.text.isEmpty && $0.text.count <= 24 })
            #expect(whole.reduce(0) { $0 + $1.text.count + $1.leftOutBytes } <= bytes.count)
        }
    }
}
