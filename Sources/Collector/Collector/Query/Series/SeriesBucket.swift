/// What is known of the values of one series in one bucket, whatever the order they came in.
struct SeriesBucket: Equatable, Sendable {
    private(set) var count = 0
    private var sum = 0.0
    private var least = Double.infinity
    private var greatest = -Double.infinity
    private var last: (time: Int64, value: Double) = (.min, 0)
    private var growth: (amount: Double, microseconds: UInt64) = (0, 0)

    mutating func add(_ value: Double, at time: Int64) {
        count += 1
        sum += value
        least = min(least, value)
        greatest = max(greatest, value)
        if time > last.time || count == 1 { last = (time, value) }
    }

    /// A counter grew by `amount` in so much time.
    mutating func grow(_ amount: Double, microseconds: UInt64) {
        growth.amount += amount
        growth.microseconds += microseconds
    }

    /// `nil` where nothing is known: there is no value to make up.
    func value(_ aggregate: SeriesAggregate) -> Double? {
        let value: Double? =
            switch aggregate {
            case .count: Double(count)
            case .mean: count > 0 ? sum / Double(count) : nil
            case .min: count > 0 ? least : nil
            case .max: count > 0 ? greatest : nil
            case .last: count > 0 ? last.value : nil
            case .increase: growth.microseconds > 0 ? growth.amount : nil
            case .rate: growth.microseconds > 0 ? growth.amount / (Double(growth.microseconds) / 1_000_000) : nil
            }
        return value.flatMap { $0.isFinite ? $0 : nil }
    }

    static func == (left: Self, right: Self) -> Bool {
        left.count == right.count && left.sum == right.sum && left.least == right.least && left.greatest == right.greatest
            && left.last == right.last && left.growth == right.growth
    }
}
