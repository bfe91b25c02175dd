import FoundationEssentials

extension Date {
    /// Reads `YYYY-MM-DDTHH:MM:SS`, a fraction of up to nine digits if there is one, and `Z` or an offset, `+HH:MM` or `+HHMM`.
    ///
    /// `nil` for every other form and for a day or time that there is not: Foundation's parser takes the 30th of February, 25:00 and what
    /// follows the end, and makes another time of them.
    init?(eventText text: String) {
        var reader = Reader(rest: text.utf8[...])
        guard let year = reader.number(4), reader.takes("-"), let month = reader.number(2), reader.takes("-"), let day = reader.number(2),
            reader.takes("T"), let hour = reader.number(2), reader.takes(":"), let minute = reader.number(2), reader.takes(":"),
            let second = reader.number(2), let fraction = reader.fraction(), let offset = reader.offset(), reader.rest.isEmpty,
            year > 0, (1...12).contains(month), (1...Self.days(of: month, year)).contains(day), hour < 24, minute < 60, second < 60
        else { return nil }
        let seconds = Self.daysSince1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset
        self.init(timeIntervalSince1970: Double(seconds) + fraction)
    }

    private static func days(of month: Int, _ year: Int) -> Int {
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        return switch month {
        case 2: isLeap ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// In the Gregorian calendar, also before it began. Years start in March, so that the leap day is the last.
    private static func daysSince1970(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let year = month < 3 ? year - 1 : year
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        // 719,468 days lie between the first of March of the year 0 and 1970.
        return year * 365 + year / 4 - year / 100 + year / 400 + dayOfYear - 719_468
    }

    private struct Reader {
        var rest: Substring.UTF8View

        mutating func takes(_ character: Unicode.Scalar) -> Bool {
            guard rest.first == UInt8(ascii: character) else { return false }
            rest.removeFirst()
            return true
        }

        /// Exactly so many digits.
        mutating func number(_ digits: Int) -> Int? {
            let text = rest.prefix(digits)
            guard text.count == digits, text.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains) else { return nil }
            rest.removeFirst(digits)
            return text.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        }

        /// Seconds, 0 where there is none; `nil` for a point without one to nine digits.
        mutating func fraction() -> Double? {
            guard takes(".") else { return 0 }
            var value = 0
            var unit = 1
            while unit < 1_000_000_000, let digit = number(1) {
                value = value * 10 + digit
                unit *= 10
            }
            return unit > 1 ? Double(value) / Double(unit) : nil
        }

        /// Seconds east of UTC.
        mutating func offset() -> Int? {
            if takes("Z") { return 0 }
            let sign = takes("+") ? 1 : takes("-") ? -1 : 0
            guard sign != 0, let hours = number(2) else { return nil }
            _ = takes(":")
            guard let minutes = number(2), hours < 24, minutes < 60 else { return nil }
            return sign * (hours * 3600 + minutes * 60)
        }
    }
}
