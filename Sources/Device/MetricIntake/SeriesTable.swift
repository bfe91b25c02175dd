/// What is measured: a name, and attributes that tell its series apart.
struct SeriesKey: Hashable, Sendable {
    let name: String
    let attributes: [String: String]

    init(_ name: String, _ attributes: [String: String] = [:]) {
        self.name = name
        self.attributes = attributes
    }

    /// Bytes of the name and the attributes.
    var bytes: Int {
        attributes.reduce(name.utf8.count) { $0 + $1.key.utf8.count + $1.value.utf8.count }
    }
}

/// The series of one source, each with a value. Bounded, because other programs choose names and attributes: one that
/// counts each user or each request under a name of its own must not fill memory, queue and collector.
///
///     name + attributes ─► known? ── yes ──────────────────────► its value is changed
///                            │ no
///                            └─► room for it? ── yes ──────────► new series
///                                   └ no ──────────────────────► refused, and counted
///
/// Two limits hold together: `limit` series, and 128 bytes of names and attributes for each of these. The second keeps
/// a source with few but long series as small as one with many short ones. Known series go on when the table is full.
/// What is refused is counted, and the source makes that count a sample, so that a chart shows what is missing.
///
/// Against it: the first series win, and the important one may come late. Evicting others instead would make every
/// series come and go under a flood, and a delta of a counter that was evicted would be wrong without a trace. A
/// refusal is told. So the limit is the operator's, per source, and the count is what tells to raise it.
struct SeriesTable<Value> {
    /// Bytes of names and attributes for each series of the limit.
    static var bytesPerSeries: Int { 128 }

    let limit: Int
    private(set) var values: [SeriesKey: Value] = [:]
    private var weights: [SeriesKey: Int] = [:]
    private var weight = 0
    private var bytes = 0

    /// - Parameter limit: series, 1 or more.
    init(limit: Int) { self.limit = limit }

    /// Measurements that the table makes.
    var count: Int { weight }

    /// Changes the value of a series, which is added if there is room for it.
    /// - Parameters:
    ///   - weight: as many series it counts as.
    ///   - initial: the value of a new series.
    /// - Returns: whether it is in the table.
    mutating func update(
        _ key: SeriesKey, weight: Int = 1, initial: @autoclosure () -> Value, _ change: (inout Value) -> Void
    ) -> Bool {
        if values[key] == nil {
            guard self.weight + weight <= limit, bytes + key.bytes * weight <= limit * Self.bytesPerSeries else {
                return false
            }
            values[key] = initial()
            weights[key] = weight
            self.weight += weight
            bytes += key.bytes * weight
        }
        change(&values[key]!)
        return true
    }

    /// Changes each value, and lets go of those for which the answer is `false`.
    mutating func keep(where isKept: (SeriesKey, inout Value) -> Bool) {
        for key in values.keys {
            guard !isKept(key, &values[key]!) else { continue }
            values[key] = nil
            let weight = weights.removeValue(forKey: key) ?? 1
            self.weight -= weight
            bytes -= key.bytes * weight
        }
    }

    mutating func removeAll() {
        (values, weights, weight, bytes) = ([:], [:], 0, 0)
    }
}
