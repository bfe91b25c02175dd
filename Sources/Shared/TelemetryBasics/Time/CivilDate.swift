/// A day of the Gregorian calendar, also before it began.
package struct CivilDate: Equatable, Sendable, CustomStringConvertible {
    package static let microsecondsPerDay: Int64 = 86_400_000_000

    package let year: Int64
    package let month: Int64
    package let day: Int64

    // Years begin in March, so that a leap day comes last (Howard Hinnant, "chrono-Compatible Low-Level Date
    // Algorithms"). 719,468 days lie between the first of March of the year 0 and 1970; an era is 400 years.

    package init(daysSince1970 days: Int64) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    }

    /// `nil` for a day that there is not, and outside the years 0 to 9999.
    package init?(year: Int64, month: Int64, day: Int64) {
        guard (0...9999).contains(year), (1...12).contains(month), (1...Self.lastDay(of: month, year)).contains(day)
        else { return nil }
        self.year = year
        self.month = month
        self.day = day
    }

    package var daysSince1970: Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    /// `2026-01-31`, of the years 0 to 9999.
    package var description: String { String(Timestamp.text(daysSince1970 * Self.microsecondsPerDay).prefix(10)) }

    private static func lastDay(of month: Int64, _ year: Int64) -> Int64 {
        switch month {
        case 2: year.isMultiple(of: 4) && !year.isMultiple(of: 100) || year.isMultiple(of: 400) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}
