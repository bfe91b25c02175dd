/// Times as text, by RFC 3339. There are no leap seconds.
///
/// All programs write one form: `2026-01-31T12:00:00.000001Z`, always 27 bytes, UTC.
package enum Timestamp {
    /// The length of the written form.
    package static let bytes = 27
    /// Microseconds since 1970, of the years 0 to 9999: all that the form can write.
    package static let range: ClosedRange<Int64> = -62_167_219_200_000_000...253_402_300_799_999_999

    /// Microseconds of a time in seconds since 1970, which a `Date` gives: the nearest in `range`, 0 for no number.
    package static func microseconds(ofSeconds seconds: Double) -> Int64 {
        guard !seconds.isNaN else { return 0 }
        let (first, last) = (Double(range.lowerBound / 1_000_000), Double(range.upperBound / 1_000_000))
        return Int64((min(max(seconds, first), last) * 1_000_000).rounded())
    }

    // MARK: - Writing

    /// - Parameter microseconds: since 1970. Times out of range are written as the nearest that is in it.
    package static func text(_ microseconds: Int64) -> String {
        String(unsafeUninitializedCapacity: bytes) { target in
            let time = min(max(microseconds, range.lowerBound), range.upperBound)
            let (second, fraction) = floored(time, by: 1_000_000)
            let target = UnsafeMutableRawBufferPointer(target)
            write(second: second, to: target)
            write(fraction, digits: 6, to: target, at: 20)
            target[26] = UInt8(ascii: "Z")
            return bytes
        }
    }

    /// Writes the first 20 bytes, to the point: the same for all times of a second.
    package static func write(second: Int64, to target: UnsafeMutableRawBufferPointer) {
        let (days, rest) = floored(second, by: 86_400)
        let date = CivilDate(daysSince1970: days)
        func put(_ value: Int64, digits: Int, at place: Int, before end: Unicode.Scalar) {
            write(value, digits: digits, to: target, at: place)
            target[place + digits] = UInt8(ascii: end)
        }
        put(date.year, digits: 4, at: 0, before: "-")
        put(date.month, digits: 2, at: 5, before: "-")
        put(date.day, digits: 2, at: 8, before: "T")
        put(rest / 3600, digits: 2, at: 11, before: ":")
        put(rest / 60 % 60, digits: 2, at: 14, before: ":")
        put(rest % 60, digits: 2, at: 17, before: ".")
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

    private static func floored(_ value: Int64, by unit: Int64) -> (Int64, Int64) {
        let (quotient, rest) = value.quotientAndRemainder(dividingBy: unit)
        return rest < 0 ? (quotient - 1, rest + unit) : (quotient, rest)
    }

    // MARK: - Reading

    /// Reads the first 27 bytes, which have to be exactly as ``text(_:)`` writes them.
    package static func microseconds(_ text: UnsafeRawBufferPointer) -> Int64? {
        guard text.count >= bytes, text[4] == UInt8(ascii: "-"), text[7] == UInt8(ascii: "-"),
            text[10] == UInt8(ascii: "T"), text[13] == UInt8(ascii: ":"), text[16] == UInt8(ascii: ":"),
            text[19] == UInt8(ascii: "."), text[26] == UInt8(ascii: "Z"),
            let year = digits(text, 0, 4), let month = digits(text, 5, 2), let day = digits(text, 8, 2),
            let date = CivilDate(year: year, month: month, day: day), let hour = digits(text, 11, 2),
            let minute = digits(text, 14, 2), let second = digits(text, 17, 2), let fraction = digits(text, 20, 6),
            hour < 24, minute < 60, second < 60
        else { return nil }
        return (((date.daysSince1970 * 24 + hour) * 60 + minute) * 60 + second) * 1_000_000 + fraction
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

    /// The forms that are accepted beside `2026-01-31T12:00:00Z`, with a fraction of a second and an offset such as
    /// `+01:00`.
    package struct Forms: OptionSet, Sendable {
        package let rawValue: Int

        package init(rawValue: Int) { self.rawValue = rawValue }

        /// `2026-01-31`: midnight, UTC.
        package static let day = Forms(rawValue: 1)
        /// `t`, `z` or a space, as RFC 3339 allows.
        package static let looseSeparators = Forms(rawValue: 2)
        /// No zone: UTC.
        package static let withoutZone = Forms(rawValue: 4)
        /// `+0100`
        package static let compactOffset = Forms(rawValue: 8)
    }

    /// Reads what people and programs write.
    /// - Returns: microseconds since 1970; `nil` for what is no time, such as the 30th of February.
    package static func parse(_ text: String, _ forms: Forms = [.day, .looseSeparators]) -> Int64? {
        moment(text, forms).map { $0.seconds * 1_000_000 + $0.nanoseconds / 1000 }
    }

    /// Parses like ``parse(_:_:)``, to the nanosecond. Further digits are cut off.
    package static func moment(_ text: String, _ forms: Forms) -> (seconds: Int64, nanoseconds: Int64)? {
        var reader = Reader(rest: text.utf8[...])
        let isLoose = forms.contains(.looseSeparators)
        guard let year = reader.number(4), reader.consume("-"), let month = reader.number(2), reader.consume("-"),
            let day = reader.number(2), let date = CivilDate(year: year, month: month, day: day)
        else { return nil }
        let midnight = date.daysSince1970 * 86_400
        if reader.rest.isEmpty, forms.contains(.day) { return (midnight, 0) }
        guard reader.consume("T") || isLoose && (reader.consume("t") || reader.consume(" ")),
            let hour = reader.number(2), reader.consume(":"), let minute = reader.number(2), reader.consume(":"),
            let second = reader.number(2), hour < 24, minute < 60, second < 60, let fraction = reader.fraction()
        else { return nil }
        let offset: Int64
        if reader.consume("Z") || isLoose && reader.consume("z") || reader.rest.isEmpty && forms.contains(.withoutZone)
        {
            offset = 0
        } else {
            guard let given = reader.offset(isCompact: forms.contains(.compactOffset)) else { return nil }
            offset = given
        }
        guard reader.rest.isEmpty else { return nil }
        return (midnight + hour * 3600 + minute * 60 + second - offset, fraction)
    }

    private struct Reader {
        var rest: Substring.UTF8View

        mutating func consume(_ character: Unicode.Scalar) -> Bool {
            guard rest.first == UInt8(ascii: character) else { return false }
            rest.removeFirst()
            return true
        }

        /// Exactly so many digits.
        mutating func number(_ digits: Int) -> Int64? {
            let text = rest.prefix(digits)
            guard text.count == digits, text.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains) else {
                return nil
            }
            rest.removeFirst(digits)
            return text.reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
        }

        /// Nanoseconds, 0 where there is no point; `nil` for a point without digits.
        mutating func fraction() -> Int64? {
            guard consume(".") else { return 0 }
            var value: Int64 = 0
            var unit: Int64 = 1_000_000_000
            let before = rest.count
            while let digit = number(1) {
                unit /= 10
                value += digit * unit
            }
            return rest.count < before ? value : nil
        }

        /// Seconds east of UTC.
        mutating func offset(isCompact: Bool) -> Int64? {
            let sign: Int64 = consume("+") ? 1 : consume("-") ? -1 : 0
            guard sign != 0, let hours = number(2), consume(":") || isCompact, let minutes = number(2), hours < 24,
                minutes < 60
            else { return nil }
            return sign * (hours * 3600 + minutes * 60)
        }
    }
}
