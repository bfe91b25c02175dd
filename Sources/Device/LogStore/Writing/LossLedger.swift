import WireModel

/// Lines that could not be written by this process: what has to be counted in the store's state yet, and what has to be told in the log.
struct LossLedger: Sendable {
    private(set) var unsaved: StoreState.Dropped = [:]
    private(set) var untold: StoreState.Dropped = [:]
    /// What went wrong last; `nil` once it went well again.
    var failure: LogStoreError?

    mutating func count(_ level: LogLevel, as reason: LogDropReason) {
        var counts = LogLevelCounts()
        counts[level] = 1
        self.count(counts, as: reason)
    }

    mutating func count(_ counts: LogLevelCounts, as reason: LogDropReason) {
        guard counts.total > 0 else { return }
        unsaved[reason, default: LogLevelCounts()] += counts
        untold[reason, default: LogLevelCounts()] += counts
    }

    mutating func saved() { unsaved = [:] }

    mutating func told() { untold = [:] }

    /// The line that tells of it, from its category on.
    var note: [UInt8]? {
        guard !untold.isEmpty else { return nil }
        var total = LogLevelCounts()
        for counts in untold.values { total += counts }
        var fields = LogLevel.allCases.map { (key: $0.name, value: total[$0]) }.filter { $0.value > 0 }
        fields += untold.map { (key: $0.key.rawValue, value: $0.value.total) }
        let text = fields.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
        return Array("\(Self.category) lines lost\t\(text)".utf8)
    }

    private static let category = "log.store"
}
