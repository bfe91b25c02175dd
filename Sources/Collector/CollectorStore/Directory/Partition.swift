import WireModel

/// A day of the UTC calendar, 1970-01-01 to 9999-12-31, written `YYYY-MM-DD` so that names sort as days do.
package struct UTCDay: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// Days since 1970-01-01.
    package let number: Int

    private static let greatest = 2_932_896

    /// Values outside the calendar are clamped.
    package init(number: Int) {
        self.number = min(max(number, 0), Self.greatest)
    }

    /// The day of a time in microseconds since 1970.
    package init(microseconds: Int64) {
        self.init(number: Int(max(0, microseconds) / 86_400_000_000))
    }

    /// `nil` unless the text is exactly what `description` writes.
    package init?(_ name: String) {
        let parts = name.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
        guard name.utf8.count == 10, parts.count == 3, let year = parts[0], let month = parts[1], let day = parts[2]
        else { return nil }
        // Howard Hinnant's days_from_civil.
        let shifted = month <= 2 ? year - 1 : year
        let era = shifted / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        self.init(number: era * 146_097 + dayOfEra - 719_468)
        guard description == name else { return nil }
    }

    package var next: UTCDay { UTCDay(number: number + 1) }

    /// Its first moment, microseconds since 1970.
    package var start: Int64 { Int64(number) * 86_400_000_000 }

    package static func < (left: Self, right: Self) -> Bool { left.number < right.number }

    package var description: String {
        // Howard Hinnant's civil_from_days.
        let shifted = number + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthIndex = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * monthIndex + 2) / 5 + 1
        let month = monthIndex < 10 ? monthIndex + 3 : monthIndex - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        func padded(_ value: Int, _ digits: Int) -> String {
            let text = String(value)
            return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
        }
        return "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))"
    }
}

/// One stream's file of one day.
package struct Partition: Hashable, Sendable, Comparable {
    package let day: UTCDay
    package let stream: StreamName

    /// As findings and messages name it, relative to the data directory.
    package var name: String { "records/\(day)/\(stream).sqlite" }

    package static func < (left: Self, right: Self) -> Bool {
        left.day == right.day ? left.stream < right.stream : left.day < right.day
    }
}
