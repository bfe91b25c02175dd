import ArgumentParser
import TelemetryBasics

/// A time on the command line: RFC 3339, a day, or how long ago.
enum TimeArgument: Equatable, Codable, Sendable, ExpressibleByArgument {
    case at(Int64)
    case ago(microseconds: Int64)

    private static let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800]
    private static let microsecondsPerSecond: Int64 = 1_000_000

    func microseconds(now: Int64) -> Int64 {
        switch self {
        case .at(let time): time
        case .ago(let microseconds): max(0, now - microseconds)
        }
    }

    /// `nil` if the text is no time. A day means its first moment in UTC. A time without a zone is UTC.
    init?(argument text: String) {
        if let unit = text.last.flatMap({ Self.units[$0] }), let count = Int64(text.dropLast()), count >= 0,
            text.first != "+"
        {
            let (seconds, overflow) = count.multipliedReportingOverflow(by: unit)
            guard !overflow, seconds <= 253_402_300_799 else { return nil }
            self = .ago(microseconds: seconds * Self.microsecondsPerSecond)
            return
        }
        guard let time = Timestamp.parse(text, [.day, .looseSeparators, .withoutZone]), time >= 0 else { return nil }
        self = .at(time)
    }
}

/// A length of time on the command line: `90s`, `15m`, `2h`, `3d`, `1w`.
struct SpanArgument: Equatable, Sendable {
    let seconds: Int64
}

extension SpanArgument: ExpressibleByArgument {
    /// `nil` if the text is no length of time, or 0.
    init?(argument: String) {
        guard case .ago(let microseconds)? = TimeArgument(argument: argument), microseconds > 0 else { return nil }
        self.init(seconds: microseconds / 1_000_000)
    }

    var defaultValueDescription: String { seconds % 86_400 == 0 ? "\(seconds / 86_400)d" : "\(seconds)s" }
}
