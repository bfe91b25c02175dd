import Glibc
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
        let time = min(max(time, 0), LogTime.greatest)
        let (seconds, fraction) = time.quotientAndRemainder(dividingBy: 1_000_000)
        if seconds != second {
            LogTime.writeSecond(seconds, to: secondText)
            second = seconds
        }
        line.copyMemory(from: UnsafeRawBufferPointer(secondText))
        LogTime.write(fraction, digits: 6, to: line, at: Self.secondBytes)
        line[LogLine.timeBytes - 1] = UInt8(ascii: "Z")
        line[LogLine.timeBytes] = UInt8(ascii: " ")
        line[LogLine.levelOffset] = level.letter
        line[LogLine.levelOffset + 1] = UInt8(ascii: " ")
        let digits = Self.digits(number.value)
        LogTime.write(Int64(number.value), digits: digits, to: line, at: LogLine.numberOffset)
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

/// Reads the system's clocks.
enum SystemClock {
    /// Microseconds since 1970.
    static func wallMicroseconds() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }

    /// Milliseconds since boot, including sleep.
    static func bootMilliseconds() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// Identifies the machine's present boot; `nil` if the kernel does not tell.
    static func bootID() -> String? {
        let bytes = try? StoreFile(reading: "/proc/sys/kernel/random/boot_id").read(36, at: 0)
        return bytes.map { String(decoding: $0, as: UTF8.self) }
    }
}
