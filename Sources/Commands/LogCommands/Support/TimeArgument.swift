import ArgumentParser
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
        case .ago(let microseconds): now - microseconds
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
        var rest = text[...]
        var offset: Int64 = 0
        if rest.count == 10 { rest += "T00:00:00" }
        if rest.hasSuffix("Z") || rest.hasSuffix("z") {
            rest = rest.dropLast()
        } else if rest.count > 19, let sign = rest.dropFirst(19).firstIndex(where: { $0 == "+" || $0 == "-" }) {
            let zone = rest[rest.index(after: sign)...].split(separator: ":", omittingEmptySubsequences: false)
            guard zone.count == 2, zone.allSatisfy({ $0.count == 2 }), let hours = Int64(zone[0]),
                let minutes = Int64(zone[1]),
                (0..<24) ~= hours,
                (0..<60) ~= minutes
            else { return nil }
            offset = (hours * 3600 + minutes * 60) * (rest[sign] == "-" ? -1 : 1)
            rest = rest[..<sign]
        }
        let parts = rest.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count <= 2, let seconds = parts.first, seconds.count == 19 else { return nil }
        let fraction = parts.count == 2 ? parts[1] : "0"
        guard !fraction.isEmpty, fraction.count <= 9 else { return nil }
        let digits = (fraction + "000000").prefix(6)
        let stamp = Array("\(seconds).\(digits)Z".replacing(" ", with: "T", maxReplacements: 1).utf8)
        guard let time = stamp.withUnsafeBytes({ LogTime.microseconds($0) }) else { return nil }
        self = .at(time - offset * Self.microsecondsPerSecond)
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
