/// The time of a line: `2026-11-21T23:51:28.123456Z`, always 27 bytes, UTC, years 1970 to 9999.
package enum LogTime {
    /// The last microsecond of the year 9999.
    package static let greatest: Int64 = 253_402_300_799_999_999
    private static let microsecondsPerSecond: Int64 = 1_000_000

    /// Reads the first 27 bytes. `nil` for what is no such time; a second 60 is none.
    package static func microseconds(_ text: UnsafeRawBufferPointer) -> Int64? {
        guard text.count >= LogLine.timeBytes, text[4] == UInt8(ascii: "-"), text[7] == UInt8(ascii: "-"),
            text[10] == UInt8(ascii: "T"),
            text[13] == UInt8(ascii: ":"), text[16] == UInt8(ascii: ":"), text[19] == UInt8(ascii: "."),
            text[26] == UInt8(ascii: "Z"),
            let year = digits(text, 0, 4), let month = digits(text, 5, 2), let day = digits(text, 8, 2),
            let hour = digits(text, 11, 2),
            let minute = digits(text, 14, 2), let second = digits(text, 17, 2), let fraction = digits(text, 20, 6),
            year >= 1970, (1...12).contains(month), (1...lastDay(of: month, year)).contains(day), hour < 24,
            minute < 60, second < 60
        else { return nil }
        let days = days(year, month, day)
        return (((days * 24 + hour) * 60 + minute) * 60 + second) * microsecondsPerSecond + fraction
    }

    /// Writes 27 bytes. Times out of range are written as the nearest that is in it.
    package static func write(_ microseconds: Int64, to target: UnsafeMutableRawBufferPointer) {
        let clamped = min(max(microseconds, 0), greatest)
        let (seconds, fraction) = clamped.quotientAndRemainder(dividingBy: microsecondsPerSecond)
        writeSecond(seconds, to: target)
        write(fraction, digits: 6, to: target, at: 20)
        target[26] = UInt8(ascii: "Z")
    }

    /// The first 20 bytes, to the point: the same for all lines of a second.
    package static func writeSecond(_ seconds: Int64, to target: UnsafeMutableRawBufferPointer) {
        let (days, rest) = seconds.quotientAndRemainder(dividingBy: 86_400)
        let (year, month, day) = date(days)
        write(year, digits: 4, to: target, at: 0)
        target[4] = UInt8(ascii: "-")
        write(month, digits: 2, to: target, at: 5)
        target[7] = UInt8(ascii: "-")
        write(day, digits: 2, to: target, at: 8)
        target[10] = UInt8(ascii: "T")
        write(rest / 3600, digits: 2, to: target, at: 11)
        target[13] = UInt8(ascii: ":")
        write(rest / 60 % 60, digits: 2, to: target, at: 14)
        target[16] = UInt8(ascii: ":")
        write(rest % 60, digits: 2, to: target, at: 17)
        target[19] = UInt8(ascii: ".")
    }

    package static func text(_ microseconds: Int64) -> String {
        String(unsafeUninitializedCapacity: LogLine.timeBytes) { target in
            write(microseconds, to: UnsafeMutableRawBufferPointer(target))
            return LogLine.timeBytes
        }
    }

    package static func write(
        _ value: Int64, digits count: Int, to target: UnsafeMutableRawBufferPointer, at offset: Int
    ) {
        var value = value
        for position in stride(from: offset + count - 1, through: offset, by: -1) {
            target[position] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value % 10)
            value /= 10
        }
    }

    private static func digits(_ text: UnsafeRawBufferPointer, _ offset: Int, _ count: Int) -> Int64? {
        var value: Int64 = 0
        for position in offset..<(offset + count) {
            let digit = text[position] &- UInt8(ascii: "0")
            guard digit < 10 else { return nil }
            value = value * 10 + Int64(digit)
        }
        return value
    }

    private static func lastDay(of month: Int64, _ year: Int64) -> Int64 {
        switch month {
        case 2: year.isMultiple(of: 4) && !year.isMultiple(of: 100) || year.isMultiple(of: 400) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    // Days since 1970 and back, by years that begin in March (Howard Hinnant, "chrono-Compatible Low-Level Date
    // Algorithms").

    private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let era = year / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func date(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let days = days + 719_468
        let era = days / 146_097
        let dayOfEra = days - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let month = (5 * dayOfYear + 2) / 153
        return (
            yearOfEra + era * 400 + (month >= 10 ? 1 : 0), month < 10 ? month + 3 : month - 9,
            dayOfYear - (153 * month + 2) / 5 + 1
        )
    }
}
