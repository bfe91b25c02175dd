import ArgumentParser
import TelemetryBasics
import WireModel

/// A time as given on the command line: RFC 3339, a day, or how long ago.
enum TimeArgument: Equatable, Codable, Sendable {
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

    /// `nil` for what is none. A day is its first moment, UTC; a time without zone is UTC.
    init?(_ text: String) {
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

extension TimeArgument: ExpressibleByArgument {
    init?(argument: String) { self.init(argument) }
}

/// A length of time as given on the command line: `90s`, `15m`, `2h`, `3d`, `1w`.
struct SpanArgument: Equatable, Sendable, ExpressibleByArgument {
    let seconds: Int64

    static func seconds(_ seconds: Int64) -> SpanArgument { SpanArgument(seconds: seconds) }

    private init(seconds: Int64) { self.seconds = seconds }

    /// `nil` for what is none, and for none at all.
    init?(argument: String) {
        guard case .ago(let microseconds)? = TimeArgument(argument), microseconds > 0 else { return nil }
        self.init(seconds: microseconds / 1_000_000)
    }

    var defaultValueDescription: String { seconds % 86_400 == 0 ? "\(seconds / 86_400)d" : "\(seconds)s" }
}
