/// A summary of events as people see it: groups with the most events first.
struct EventSummaryView: Encodable {
    struct Group: Encodable {
        var key: String
        var count: Int
        /// Distinct ones.
        var devices: Int
        /// Of the values that are numbers; absent where none is.
        var numeric: Numeric?
        /// One entry per bucket; only where a step was asked for.
        var buckets: Buckets?
    }

    struct Numeric: Encodable {
        var count: Int
        var sum: Double
        var mean: Double
        var min: Double
        var max: Double

        init?(_ cell: EventSummary.Cell) {
            guard cell.numbers > 0, cell.sum.isFinite else { return nil }
            count = cell.numbers
            sum = cell.sum
            mean = cell.sum / Double(cell.numbers)
            min = cell.least
            max = cell.greatest
        }
    }

    struct Buckets: Encodable {
        var count: [Int]
        var devices: [Int]
        var sum: [Double?]
        var mean: [Double?]
        var min: [Double?]
        var max: [Double?]

        init(_ group: EventSummary.Group, count buckets: Int) {
            let cells = (0..<buckets).map { group.buckets[$0] ?? EventSummary.Cell() }
            let numeric = cells.map { Numeric($0) }
            count = cells.map(\.count)
            devices = cells.map(\.devices.count)
            sum = numeric.map { $0?.sum }
            mean = numeric.map { $0?.mean }
            min = numeric.map { $0?.min }
            max = numeric.map { $0?.max }
        }
    }

    var from: String
    var to: String
    var stepSeconds: Int64?
    var by: String
    var groups: [Group]

    init(_ summary: EventSummary, isStepped: Bool) {
        let window = summary.window
        from = Timestamp.text(window.from)
        to = Timestamp.text(window.to)
        stepSeconds = isStepped ? window.step / 1_000_000 : nil
        by = summary.grouping.rawValue
        groups = summary.groups.sorted { ($1.value.total.count, $0.key) < ($0.value.total.count, $1.key) }.map { key, group in
            Group(
                key: key, count: group.total.count, devices: group.total.devices.count, numeric: Numeric(group.total),
                buckets: isStepped ? Buckets(group, count: window.buckets) : nil)
        }
    }
}
