/// What StatsD told since the last sample. Not safe by itself.
///
/// | type | measurements of a sample |
/// |---|---|
/// | counter | its sum since the last sample |
/// | gauge | its last value, in the samples before which it was told |
/// | timer, histogram, distribution | `.count`, `.sum`, `.min` and `.max`, since the last sample: four series |
/// | set | how many different members were told since the last sample |
///
/// A gauge that is not told any more has no samples, because a value that nobody measured is none. It is remembered for
/// 60 samples all the same, so that a change with a sign finds it; unless others need its room.
///
/// Against it: percentiles of timers are what people ask for. They cannot be merged over samples and devices, and a
/// sketch that can be has no place in a custom sample. Count, sum, least and greatest merge exactly.
struct StatsDTable {
    private enum Aggregate {
        case counter(Double)
        case gauge(Double, isTold: Bool, age: Int)
        case timer(count: Double, sum: Double, least: Double, greatest: Double, unit: String)
        /// Its members are in `sets`.
        case set
    }

    /// Members of all sets together. More of them are refused.
    static let maximumMembers = 100_000
    static let rememberedSamples = 60
    private static let timerSuffixes = [".count", ".sum", ".min", ".max"]

    private var table: SeriesTable<Aggregate>
    /// Hashes of the members told since the last sample. Beside the table, so that they are changed in place.
    private var sets: [SeriesKey: Set<Int>] = [:]
    private var members = 0
    /// Old gauges were let go of since the last sample.
    private var hasMadeRoom = false

    init(limit: Int) { table = SeriesTable(limit: limit) }

    mutating func apply(_ update: StatsDUpdate, _ tally: inout MetricTally) {
        var objection: String?
        var weight = 1
        if case .timing = update.change {
            weight = Self.timerSuffixes.count
            guard update.key.name.utf8.count + 6 <= MetricBounds.nameBytes.upperBound else {
                return tally.invalid("the name of a timer may have at most 122 bytes")
            }
        }
        let initial: Aggregate =
            switch update.change {
            case .count: .counter(0)
            case .gauge, .gaugeChange: .gauge(0, isTold: false, age: 0)
            case .timing(let value, _, let unit): .timer(count: 0, sum: 0, least: value, greatest: value, unit: unit)
            case .member: .set
            }
        func change(_ aggregate: inout Aggregate) { objection = Self.change(&aggregate, update.change) }
        var isKnown = table.update(update.key, weight: weight, initial: initial, change)
        if !isKnown, !hasMadeRoom {
            hasMadeRoom = true
            table.keep { _, aggregate in
                if case .gauge(_, false, _) = aggregate { false } else { true }
            }
            isKnown = table.update(update.key, weight: weight, initial: initial, change)
        }
        if let objection { return tally.invalid(objection) }
        if case .member(let member) = update.change, isKnown { isKnown = add(member, to: update.key) }
        if !isKnown { tally.refuse() }
    }

    /// - Returns: whether there was room for it.
    private mutating func add(_ member: [UInt8], to key: SeriesKey) -> Bool {
        var hasher = Hasher()
        member.withUnsafeBytes { hasher.combine(bytes: $0) }
        let hash = hasher.finalize()
        if sets[key]?.contains(hash) == true { return true }
        guard members < Self.maximumMembers else { return false }
        sets[key, default: []].insert(hash)
        members += 1
        return true
    }

    /// - Returns: why the change does not go with what the series is.
    private static func change(_ aggregate: inout Aggregate, _ change: StatsDUpdate.Change) -> String? {
        switch (aggregate, change) {
        case (.counter(let sum), .count(let more)):
            guard (sum + more).isFinite else { return "the sum of a counter is too large" }
            aggregate = .counter(sum + more)
        case (.gauge, .gauge(let value)): aggregate = .gauge(value, isTold: true, age: 0)
        case (.gauge(let value, _, _), .gaugeChange(let more)):
            guard (value + more).isFinite else { return "the value of a gauge is too large" }
            aggregate = .gauge(value + more, isTold: true, age: 0)
        case (.timer(let count, let sum, let least, let greatest, let unit), .timing(let value, let weight, _)):
            guard (sum + value * weight).isFinite else { return "the sum of a timer is too large" }
            aggregate = .timer(
                count: count + weight, sum: sum + value * weight, least: min(least, value),
                greatest: max(greatest, value), unit: unit)
        case (.set, .member): break
        default: return "a name is told with several types"
        }
        return nil
    }

    /// The measurements of a sample. What they tell begins anew.
    mutating func take() -> [MetricPoint] {
        var points: [MetricPoint] = []
        let sets = sets
        table.keep { key, aggregate in
            func point(_ value: MetricValue, _ unit: String = "", suffix: String = "") {
                points.append(
                    MetricPoint(key.name + suffix, unit: unit, attributes: key.attributes, value))
            }
            switch aggregate {
            case .counter(let sum): point(.number(sum))
            case .gauge(let value, let isTold, let age):
                if isTold { point(.number(value)) }
                aggregate = .gauge(value, isTold: false, age: age + 1)
                return age < Self.rememberedSamples
            // A timer of which nothing but values too large were told has no values.
            case .timer(let count, let sum, let least, let greatest, let unit):
                guard count > 0 else { return false }
                let values = [(count, ""), (sum, unit), (least, unit), (greatest, unit)]
                for (suffix, value) in zip(Self.timerSuffixes, values) {
                    point(.number(value.0), value.1, suffix: suffix)
                }
            case .set: point(.integer(Int64(sets[key]?.count ?? 0)))
            }
            return false
        }
        (self.sets, members, hasMadeRoom) = ([:], 0, false)
        return points
    }

    mutating func removeAll() {
        table.removeAll()
        (sets, members, hasMadeRoom) = ([:], 0, false)
    }
}
