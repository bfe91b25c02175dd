import TelemetryBasics
import WireModel

/// A day of the UTC calendar, 1970-01-01 to 9999-12-31, written `YYYY-MM-DD`, so names sort like days.
package struct UTCDay: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// Days since 1970-01-01.
    package let number: Int

    private static let greatest = 2_932_896

    /// Values outside of the calendar are clamped.
    package init(number: Int) {
        self.number = min(max(number, 0), Self.greatest)
    }

    /// The day of a time in microseconds since 1970.
    package init(microseconds: Int64) {
        self.init(number: Int(max(0, microseconds) / CivilDate.microsecondsPerDay))
    }

    /// `nil` unless the text is exactly what `description` writes.
    package init?(_ name: String) {
        guard let start = Timestamp.parse(name, .day) else { return nil }
        self.init(microseconds: start)
        guard description == name else { return nil }
    }

    package var next: UTCDay { UTCDay(number: number + 1) }

    /// Its first moment, microseconds since 1970.
    package var start: Int64 { Int64(number) * CivilDate.microsecondsPerDay }

    package static func < (left: Self, right: Self) -> Bool { left.number < right.number }

    package var description: String { CivilDate(daysSince1970: Int64(number)).description }
}

/// One stream's file of one day.
package struct Partition: Hashable, Sendable, Comparable {
    package let day: UTCDay
    package let stream: StreamName

    package init(day: UTCDay, stream: StreamName) {
        self.day = day
        self.stream = stream
    }

    /// The name in findings and messages, relative to the data directory.
    package var name: String { "records/\(day)/\(stream).sqlite" }

    package static func < (left: Self, right: Self) -> Bool {
        left.day == right.day ? left.stream < right.stream : left.day < right.day
    }
}
