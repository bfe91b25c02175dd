import ArgumentParser
import TelemetryBasics

/// A time on the command line of every program: RFC 3339, a day, or how long ago.
package enum TimeArgument: Equatable, Codable, Sendable, ExpressibleByArgument {
    case at(Int64)
    case ago(microseconds: Int64)

    private static let microsecondsPerSecond: Int64 = 1_000_000

    /// Microseconds since 1970; never before.
    package func microseconds(now: Int64) -> Int64 {
        switch self {
        case .at(let time): time
        case .ago(let microseconds): max(0, now - microseconds)
        }
    }

    /// `nil` if the text is no time. A day means its first moment in UTC. A time without a zone is UTC.
    package init?(argument text: String) {
        if let seconds = SpanArgument.seconds(of: text) {
            self = .ago(microseconds: seconds * Self.microsecondsPerSecond)
            return
        }
        guard let time = Timestamp.parse(text, [.day, .looseSeparators, .withoutZone]), time >= 0 else { return nil }
        self = .at(time)
    }
}
