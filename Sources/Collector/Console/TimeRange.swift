import JSON
import TelemetryBasics
import WireModel

/// The time that a page shows: `range` back from now, or `from` and `to`, which win.
struct TimeRange: Equatable {
    /// Microseconds since 1970.
    var from: Int64
    /// Exclusive.
    var to: Int64
    /// One of `choices`; `nil` for a range of `from` and `to`.
    var choice: String?

    static let choices: [(name: String, label: String, seconds: Int64)] = [
        ("1h", "1 hour", 3600), ("6h", "6 hours", 21_600), ("24h", "24 hours", 86_400), ("7d", "7 days", 604_800),
        ("30d", "30 days", 2_592_000),
    ]
    /// The names of the query parameters.
    static let names = ["range", "from", "to"]
    private static let usual = choices[2]
    fileprivate static let second: Int64 = 1_000_000
}

extension TimeRange {
    /// - Parameter since: when what the page shows began. Without a choice the range is a day, or the shortest one that
    ///   covers it.
    /// - Throws: `Problem` for a time that is none, and for an end before the beginning.
    init(_ query: FormFields, now: Int64, since: Int64? = nil) throws(Problem) {
        let age = (now - (since ?? .min / 2)) / Self.second
        let usual = Self.choices.first { $0.seconds >= age } ?? Self.usual
        let chosen =
            Self.choices.first { $0.name == query.text("range") }
            ?? (usual.seconds < Self.usual.seconds ? usual : Self.usual)
        let (begin, end) = (try Self.time(query, "from"), try Self.time(query, "to"))
        to = end ?? now
        from = begin ?? to - chosen.seconds * Self.second
        choice = begin == nil && end == nil ? chosen.name : nil
        guard from < to else {
            throw Problem(
                status: 400, code: .invalidParameter, title: "No such range", detail: "`from` is not before `to`.")
        }
    }

    /// A time of a query, in a form of the API or of a browser's `datetime-local`.
    static func time(_ query: FormFields, _ name: String) throws(Problem) -> Int64? {
        guard let text = query.text(name) else { return nil }
        let whole = text.utf8.count == "2026-01-31T12:00".utf8.count ? text + ":00" : text
        guard let time = Timestamp.parse(whole, [.day, .looseSeparators, .withoutZone]) else {
            throw Problem(
                status: 400, code: .invalidParameter, title: "No such time",
                detail: "`\(name)` is \(text); expected a time such as 2026-01-31T12:00 (UTC).")
        }
        return time
    }

    private static let steps: [Int64] = [
        1, 5, 10, 30, 60, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 7 * 86_400, 30 * 86_400,
    ]

    /// The seconds of a bucket that make at most so many of them.
    func step(buckets: Int64) -> Int64 {
        Self.steps.first { (to - from) / ($0 * Self.second) < buckets } ?? (to - from) / (buckets * Self.second) + 1
    }

    /// This range, begun at a multiple of a step, so that the same time is in the same bucket whenever one looks.
    func aligned(to step: Int64) -> TimeRange {
        var range = self
        let unit = step * Self.second
        range.from -= ((from % unit) + unit) % unit
        return range
    }

    var query: FormFields { [("from", Timestamp.text(from)), ("to", Timestamp.text(to))] }

    /// The values for the template `range`.
    /// - Parameter fragment: the id of the element that shows the range.
    func values(at visit: Visit, fragment: String) -> JSONValue {
        let kept = visit.query.with("from").with("to").with("cursor")
        return [
            "choices": .array(
                Self.choices.map { choice in
                    [
                        "label": .text(choice.label), "isHere": .boolean(choice.name == self.choice),
                        "address": .text(
                            visit.base + kept.with("range", choice.name).address(visit.path) + "#\(fragment)"),
                    ]
                }),
            "from": .text(Self.input(from)), "to": .text(Self.input(to)), "fragment": .text(fragment),
            "fields": kept.with("range").hidden,
        ]
    }

    /// The value of a `datetime-local`.
    static func input(_ time: Int64) -> String { String(Timestamp.text(time).prefix(19)) }
}
