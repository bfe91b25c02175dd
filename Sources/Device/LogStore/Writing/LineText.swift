import Glibc
import TelemetryBasics
import WireModel

/// Collects lines for one write, and puts time, level and number before each body.
struct LineText: ~Copyable {
    /// Bytes to collect before a write.
    static let fullBytes = 256 << 10

    private(set) var count = 0
    private(set) var counts = LogLevelCounts()
    private let memory: UnsafeMutableRawBufferPointer
    /// The second of the previous line. Most lines share it.
    private var second = Int64.min
    private static let secondBytes = 20
    private let secondText: UnsafeMutableRawBufferPointer

    init() {
        memory = .allocate(byteCount: Self.fullBytes + LogLimits.lineBytes, alignment: 8)
        secondText = .allocate(byteCount: Self.secondBytes, alignment: 1)
    }

    deinit {
        memory.deallocate()
        secondText.deallocate()
    }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[..<count]) }
    var isFull: Bool { count >= Self.fullBytes }

    /// The length of a whole line with its newline.
    static func lineBytes(number: LogNumber, body: Int) -> Int {
        LogLine.numberOffset + digits(number.value) + 1 + body + 1
    }

    /// Adds a line. Call it only while `isFull` is false.
    mutating func append(time: Int64, level: LogLevel, number: LogNumber, body: UnsafeRawBufferPointer) {
        let line = UnsafeMutableRawBufferPointer(rebasing: memory[count...])
        let time = min(max(time, 0), Timestamp.range.upperBound)
        let (seconds, fraction) = time.quotientAndRemainder(dividingBy: 1_000_000)
        if seconds != second {
            Timestamp.write(second: seconds, to: secondText)
            second = seconds
        }
        line.copyMemory(from: UnsafeRawBufferPointer(secondText))
        Timestamp.write(fraction, digits: 6, to: line, at: Self.secondBytes)
        line[LogLine.timeBytes - 1] = UInt8(ascii: "Z")
        line[LogLine.timeBytes] = UInt8(ascii: " ")
        line[LogLine.levelOffset] = level.letter
        line[LogLine.levelOffset + 1] = UInt8(ascii: " ")
        let digits = Self.digits(number.value)
        Timestamp.write(Int64(number.value), digits: digits, to: line, at: LogLine.numberOffset)
        var position = LogLine.numberOffset + digits
        line[position] = UInt8(ascii: " ")
        position += 1
        if let base = body.baseAddress { memcpy(line.baseAddress! + position, base, body.count) }
        position += body.count
        line[position] = UInt8(ascii: "\n")
        count += position + 1
        counts[level] += 1
    }

    mutating func empty() {
        count = 0
        counts = LogLevelCounts()
    }

    private static func digits(_ value: UInt64) -> Int {
        var digits = 1
        var bound: UInt64 = 10
        while value >= bound, digits < 19 {
            digits += 1
            bound *= 10
        }
        return digits
    }
}
