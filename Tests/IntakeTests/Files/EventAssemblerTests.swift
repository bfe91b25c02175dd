import TestKit
import Testing

@testable import Intake

@Suite struct EventAssemblerTests {
    private func events(_ text: String, limit: Int = 100, pieces: Int = .max, isMultiLine: Bool = false) -> [String] {
        var isStart: (@Sendable (UnsafeRawBufferPointer) -> Bool)?
        if isMultiLine { isStart = { $0.first != UInt8(ascii: " ") } }
        var assembler = EventAssembler(limit: limit, isStart: isStart)
        var found: [String] = []
        func take(_ event: EventAssembler.Event) {
            let text = String(decoding: event.text, as: UTF8.self)
            found.append(event.leftOutBytes > 0 ? "\(text)+\(event.leftOutBytes)" : text)
        }
        var waiting: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            waiting += rest.prefix(pieces)
            rest = rest.dropFirst(pieces)
            let used = waiting.withUnsafeBytes { assembler.add($0, event: take) }
            waiting.removeFirst(used)
        }
        waiting.withUnsafeBytes { assembler.finish($0, event: take) }
        return found
    }

    @Test func `Each line is an event, whatever its end`() {
        #expect(events("a\nb\r\n\nc") == ["a", "b", "", "c"])
        #expect(events("x") == ["x"])
    }

    @Test func `A line that has not ended waits in the file`() {
        var assembler = EventAssembler(limit: 10)
        let used = Array("ab\ncd".utf8).withUnsafeBytes { assembler.add($0, event: { _ in }) }
        #expect(used == 3 && assembler.open == nil)
    }

    @Test func `A line over the limit keeps its beginning, and the rest is counted to its end`() {
        #expect(events("0123456789abcdef\nnext\n", limit: 10) == ["0123456789+6", "next"])
    }

    @Test func `Lines that do not match the start belong to the event before`() {
        #expect(events("a\n b\n c\nd\n e", isMultiLine: true) == ["a\n b\n c", "d\n e"])
        #expect(events(" b\na\n", isMultiLine: true) == [" b", "a"])
    }

    @Test func `A line for which an event has no room begins another one`() {
        #expect(events("aaaa\n bbbb\n cccc\n d\ne", limit: 10, isMultiLine: true) == ["aaaa\n bbbb", " cccc\n d", "e"])
        #expect(events("aaaa\n 0123456789\n b\n", limit: 10, isMultiLine: true) == ["aaaa", " 012345678+1", " b"])
    }

    @Test func `Events do not depend on the pieces in which they come`() {
        var random = SplitMix64(seed: 7)
        for _ in 0..<300 {
            let text = String(
                (0..<Int.random(in: 1...80, using: &random)).map { _ in "a \n\r".randomElement(using: &random)! })
            for isMultiLine in [false, true] {
                let whole = events(text, limit: 1000, isMultiLine: isMultiLine)
                let pieces = events(
                    text, limit: 1000, pieces: Int.random(in: 1...9, using: &random), isMultiLine: isMultiLine)
                #expect(whole == pieces, "\(text.debugDescription)")
            }
        }
    }

    /// Random bytes, any limit: every byte that is no line end is kept or counted.
    @Test func `No byte is lost or counted twice`() {
        var random = SplitMix64(seed: 11)
        for _ in 0..<300 {
            let bytes = (0..<Int.random(in: 0...400, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random) % 40
            }.filter { $0 != UInt8(ascii: "\r") }
            var assembler = EventAssembler(limit: Int.random(in: 1...50, using: &random))
            var total = 0
            var waiting: [UInt8] = []
            var rest = bytes[...]
            while !rest.isEmpty {
                let piece = Int.random(in: 1...60, using: &random)
                waiting += rest.prefix(piece)
                rest = rest.dropFirst(piece)
                let used = waiting.withUnsafeBytes {
                    assembler.add($0, event: { total += $0.text.count + $0.leftOutBytes })
                }
                waiting.removeFirst(used)
            }
            waiting.withUnsafeBytes { assembler.finish($0, event: { total += $0.text.count + $0.leftOutBytes }) }
            #expect(total == bytes.count { $0 != UInt8(ascii: "\n") })
        }
    }
}
