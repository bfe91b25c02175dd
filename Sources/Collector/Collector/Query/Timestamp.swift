/// Microseconds since 1970 as RFC 3339 in UTC with six digits, and back. Proleptic Gregorian; no leap seconds.
package enum Timestamp {
    private static let microsecondsPerDay: Int64 = 86_400_000_000
    /// Years 0000 to 9999, all that RFC 3339 can write.
    static let range: ClosedRange<Int64> = -62_167_219_200_000_000...253_402_300_799_999_999

    /// `2026-01-31T12:00:00.000001Z`. A time outside the years 0 to 9999 is shown as the nearest one that can be
    /// written.
    package static func text(_ microseconds: Int64) -> String {
        let time = min(max(microseconds, range.lowerBound), range.upperBound)
        var days = time / microsecondsPerDay
        var rest = time % microsecondsPerDay
        if rest < 0 {
            rest += microsecondsPerDay
            days -= 1
        }
        let (year, month, day) = civil(fromDays: days)
        let seconds = rest / 1_000_000
        return
            "\(pad(year, 4))-\(pad(month, 2))-\(pad(day, 2))T\(pad(seconds / 3600, 2)):\(pad(seconds / 60 % 60, 2)):\(pad(seconds % 60, 2))"
            + ".\(pad(rest % 1_000_000, 6))Z"
    }

    /// RFC 3339 with `Z` or an offset and any number of fraction digits (past the sixth they are cut off), or a date
    /// alone (midnight UTC).
    package static func parse(_ text: String) -> Int64? {
        var rest = Substring(text)
        func number(_ digits: Int) -> Int64? {
            let taken = rest.prefix(digits)
            guard taken.utf8.count == digits, taken.utf8.allSatisfy({ $0 >= 48 && $0 <= 57 }) else { return nil }
            rest = rest.dropFirst(digits)
            return Int64(taken)
        }
        func skip(_ characters: String) -> Bool {
            guard let first = rest.first, characters.contains(first) else { return false }
            rest = rest.dropFirst()
            return true
        }
        guard let year = number(4), skip("-"), let month = number(2), skip("-"), let day = number(2),
            (1...12).contains(month), day >= 1,
            day <= daysIn(month: month, year: year)
        else { return nil }
        let midnight = days(fromYear: year, month: month, day: day) * microsecondsPerDay
        if rest.isEmpty { return midnight }
        guard skip("Tt "), let hour = number(2), skip(":"), let minute = number(2), skip(":"), let second = number(2),
            hour < 24,
            minute < 60,
            second < 60
        else { return nil }
        var fraction: Int64 = 0
        if skip(".") {
            let digits = rest.prefix { $0.isASCII && $0.isNumber }
            guard !digits.isEmpty else { return nil }
            rest = rest.dropFirst(digits.count)
            fraction = Int64(digits.prefix(6) + String(repeating: "0", count: max(0, 6 - digits.count))) ?? 0
        }
        var offset: Int64 = 0
        if !skip("Zz") {
            let sign: Int64
            if skip("+") { sign = 1 } else if skip("-") { sign = -1 } else { return nil }
            guard let hours = number(2), skip(":"), let minutes = number(2), hours < 24, minutes < 60 else {
                return nil
            }
            offset = sign * (hours * 60 + minutes) * 60_000_000
        }
        guard rest.isEmpty else { return nil }
        return midnight + ((hour * 60 + minute) * 60 + second) * 1_000_000 + fraction - offset
    }

    private static func pad(_ value: Int64, _ width: Int) -> String {
        let text = String(value)
        return String(repeating: "0", count: max(0, width - text.utf8.count)) + text
    }

    private static func daysIn(month: Int64, year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Days since 1970-01-01; the year starts in March, so that a leap day comes last (Hinnant's days_from_civil).
    private static func days(fromYear year: Int64, month: Int64, day: Int64) -> Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func civil(fromDays days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    }
}
