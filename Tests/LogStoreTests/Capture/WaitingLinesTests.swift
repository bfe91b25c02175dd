import Testing
import WireModel

@testable import LogStore

@Suite struct WaitingLinesTests {
    private func add(_ lines: inout WaitingLines, _ level: LogLevel, bytes: Int = 84) -> WaitingLines.Admission {
        [UInt8](repeating: 97, count: bytes).withUnsafeBufferPointer { body in
            lines.add(time: 1, level: level, isRing: false, category: body, message: nil)
        }
    }

    /// A line of 84 bytes needs 100.
    @Test(arguments: [(LogLevel.verbose, 50), (.information, 75), (.warning, 100), (.error, 112)])
    func `The less severe are refused first`(_ level: LogLevel, _ taken: Int) {
        var lines = WaitingLines(limits: WaitingLimits(bytes: 10_000))
        for _ in 0..<taken { #expect(add(&lines, level) != .refused) }
        #expect(add(&lines, level) == .refused && lines.refused[level] == 1)
        for other in LogLevel.allCases where other > level { #expect(add(&lines, other) == .refused) }
        if level > .error { #expect(add(&lines, .error) != .refused) }
    }

    @Test func `The writer is woken by the first line and when much waits`() {
        var lines = WaitingLines(limits: WaitingLimits(bytes: 8 << 20))
        #expect(add(&lines, .information) == .takenFirst(1))
        #expect(add(&lines, .information) == .taken(2))
        var wakes = 0
        for number in 3...10_000 where add(&lines, .information) == .takenFirst(UInt64(number)) { wakes += 1 }
        #expect(wakes == 1)
        let (buffer, taken, refused) = lines.drain(for: LineBuffer())
        #expect(buffer.counts.information == 10_000 && taken == 10_000 && refused.total == 0 && lines.buffer.count == 0)
        #expect(add(&lines, .information) == .taken(10_001))
        lines.isWriterIdle = true
        #expect(add(&lines, .information) == .takenFirst(10_002))
    }

    @Test func `After the end, nothing is accepted`() {
        var lines = WaitingLines(limits: WaitingLimits(bytes: 8 << 20))
        lines.close()
        #expect(add(&lines, .error) == .refused)
    }
}
