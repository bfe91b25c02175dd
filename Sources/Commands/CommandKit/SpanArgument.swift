import ArgumentParser

/// A length of time on the command line: `90s`, `15m`, `2h`, `3d`, `1w`.
package struct SpanArgument: Equatable, Sendable {
    /// At least 1.
    package let seconds: Int64

    private static let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800]

    package init(seconds: Int64) { self.seconds = seconds }

    /// The seconds that the text names, 0 included; `nil` if it is no length of time, or more than 8,000 years.
    package static func seconds(of text: String) -> Int64? {
        guard let unit = text.last.flatMap({ units[$0] }), let count = Int64(text.dropLast()), count >= 0,
            text.first != "+"
        else { return nil }
        let (seconds, overflow) = count.multipliedReportingOverflow(by: unit)
        return overflow || seconds > 253_402_300_799 ? nil : seconds
    }
}

extension SpanArgument {
    /// The seconds of a flag's value, where it is not too long.
    /// - Throws: `.usage`, naming the flag, if it is more than so many days.
    package func seconds(of flag: String, atMostDays days: Int) throws(CommandError) -> Int64 {
        guard seconds <= Int64(days) * 86_400 else {
            throw CommandError(.usage, "\(flag) is \(defaultValueDescription); expected at most \(days)d.")
        }
        return seconds
    }
}

extension SpanArgument: ExpressibleByArgument {
    /// `nil` if the text is no length of time, or 0.
    package init?(argument: String) {
        guard let seconds = Self.seconds(of: argument), seconds > 0 else { return nil }
        self.init(seconds: seconds)
    }

    package var defaultValueDescription: String {
        seconds % 86_400 == 0 ? "\(seconds / 86_400)d" : "\(seconds)s"
    }
}
