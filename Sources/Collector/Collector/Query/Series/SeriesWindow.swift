import WireModel

/// The buckets of a series: `[from + i * step, from + (i + 1) * step)`, the last one cut at `to`. Microseconds.
struct SeriesWindow: Equatable, Sendable {
    let from: Int64
    /// Exclusive; above `from`.
    let to: Int64
    /// Above 0.
    let step: Int64

    /// As many as Prometheus gives in one answer.
    static let maximumBuckets = 11_000

    var buckets: Int { Self.count(from: from, to: to, step: step) }

    static func count(from: Int64, to: Int64, step: Int64) -> Int { Int((to - from - 1) / step) + 1 }

    init(from: Int64, to: Int64, step: Int64) {
        self.from = from
        self.to = to
        self.step = step
    }

    private static let second: Int64 = 1_000_000
    private static let defaultRange = 86_400 * second

    /// Of the parameters `from` and `to`, by default the last day.
    /// - Parameters:
    ///   - step: `nil` for one bucket over the whole.
    ///   - now: where `to` is not given.
    /// - Throws: `Problem` for the parameter that is wrong.
    init(_ query: QueryParameters, step: Int64?, now: Int64) throws {
        let to = try query.time("to") ?? now
        let from = try query.time("from") ?? to - Self.defaultRange
        guard from < to else { throw Problem.invalidParameter("from", "is not before `to`.") }
        let step = step ?? to - from
        guard Self.count(from: from, to: to, step: step) <= Self.maximumBuckets else {
            let least = ((to - from) / Int64(Self.maximumBuckets)) / Self.second + 1
            throw Problem.invalidParameter(
                "step",
                "makes more than \(Self.maximumBuckets) buckets of the time asked for; ask for \(least) s or more, or for less time.")
        }
        self.init(from: from, to: to, step: step)
    }

    /// The step where none is asked for: five minutes, or longer where that would be more than a thousand buckets.
    var defaultStep: Int64 { max(300 * Self.second, ((to - from) / 1000 / Self.second + 1) * Self.second) }

    /// The bucket of a time; `nil` outside.
    func bucket(of time: Int64) -> Int? {
        time >= from && time < to ? Int((time - from) / step) : nil
    }
}
