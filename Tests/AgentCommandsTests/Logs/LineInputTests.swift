import Foundation
import LogStore
import Testing
import WireModel

@testable import AgentCommands

@Suite struct LineInputTests {
    /// Lines of bytes that come in pieces of a size.
    private func lines(_ bytes: [UInt8], pieces: Int) -> [LineInput.Line] {
        var input = LineInput()
        var lines: [LineInput.Line] = []
        for start in stride(from: 0, to: bytes.count, by: pieces) {
            Array(bytes[start..<min(start + pieces, bytes.count)]).withUnsafeBytes { lines += input.add($0) }
        }
        if let last = input.finish() { lines.append(last) }
        #expect(input.finish() == nil)
        return lines
    }

    @Test(
        arguments: [
            ("", []), ("a", ["a"]), ("a\n", ["a"]), ("a\nb", ["a", "b"]), ("\n\n", ["", ""]),
            ("a\n\nb\n", ["a", "", "b"]),
            ("ä…\u{1F600}\n", ["ä…\u{1F600}"]), ("tab\there\r\n", ["tab\there"]),
            ("\u{FEFF}started\r\n10 %\r20 %\r\r\n\r\n\u{FEFF}end\r", ["started", "10 %\r20 %", "", "end"]),
        ] as [(String, [String])])
    func `Lines are the same, however they arrive`(text: String, expected: [String]) {
        for pieces in 1...5 {
            let lines = lines(Array(text.utf8), pieces: pieces)
            // By their scalars: `\r` would otherwise be joined with what is beside it.
            #expect(lines.map { Array($0.text.utf8) } == expected.map { Array($0.utf8) })
            #expect(lines.allSatisfy { $0.leftOutBytes == 0 })
        }
    }

    @Test func `What is not text is replaced and ends nothing`() {
        let garbage: [UInt8] = [0xFF, 0xFE, 0x00, 0xC3, 0x28, UInt8(ascii: "\n"), 0x80, UInt8(ascii: "\n")]
        let lines = lines(garbage, pieces: 3)
        #expect(lines.map(\.text) == ["\u{FFFD}\u{FFFD}\u{0}\u{FFFD}(", "\u{FFFD}"])
    }

    @Test func `A line of any length uses bounded memory and says what is left out`() {
        let long = [UInt8](repeating: UInt8(ascii: "x"), count: LogEntry.messageBytes + 12_345)
        let lines = lines(long + Array("\nshort\n".utf8), pieces: 65_536)
        #expect(lines.map { $0.text.utf8.count } == [LogEntry.messageBytes, 5])
        #expect(lines.map(\.leftOutBytes) == [12_345, 0])
    }

    @Test(arguments: [0, 1, 2, 3]) func `Carriage returns at the end of a long line do not count as left out`(over: Int)
    {
        let text = [UInt8](repeating: UInt8(ascii: "x"), count: LogEntry.messageBytes - 2 + over)
        for pieces in [LogEntry.messageBytes - 1, LogEntry.messageBytes, LogEntry.messageBytes + 1] {
            let lines = lines(text + Array("\r\r\nnext\r\n".utf8), pieces: pieces)
            #expect(lines.map { $0.text.utf8.count } == [min(text.count, LogEntry.messageBytes), 4])
            #expect(lines.map(\.leftOutBytes) == [max(0, text.count - LogEntry.messageBytes), 0])
        }
    }

    @Test func `Batches fit into a frame and keep the order`() {
        var batches = LogBatches()
        var handedOn: [[LogEntry]] = []
        let sizes = [10, 590_000, 20, 300_000, 299_000, 786_444, 1, 1]
        for (number, size) in sizes.enumerated() {
            let entry = LogEntry(.information, String(repeating: "x", count: size), metadata: ["n": "\(number)"])
            if let full = batches.add(entry) { handedOn.append(full) }
        }
        handedOn.append(batches.drain())
        #expect(batches.drain().isEmpty)
        #expect(handedOn.flatMap { $0 }.map { $0.metadata["n"] } == sizes.indices.map { "\($0)" })
        for batch in handedOn {
            var request = WireControlRequest()
            request.log.lines = batch.map(\.wire)
            #expect(!batch.isEmpty && request.encoded.count < 1_048_576)
        }
    }

    @Test func `An entry is the same behind the socket`() throws {
        let entry = LogEntry(.warning, "m", category: "c", metadata: ["k": "v"], leftOutBytes: 7)
        #expect(LogEntry(entry.wire) == entry)
        var unknown = entry.wire
        unknown.level = .unspecified
        #expect(LogEntry(unknown) == nil)
    }
}
