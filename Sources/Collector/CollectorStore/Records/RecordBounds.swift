/// Among what wall times, and of what kinds, some records are: a question about others passes over all of them.
///
/// Device clocks may be as wrong as they like: nothing is concluded from the day of receipt, only from these.
struct RecordBounds: Equatable, Sendable {
    private(set) var earliest: Int64
    private(set) var latest: Int64
    /// `RecordFile.kindBit` of each.
    private(set) var kinds: UInt64

    /// Of no record: it meets nothing.
    static let none = RecordBounds(earliest: .max, latest: .min, kinds: 0)

    init(earliest: Int64, latest: Int64, kinds: UInt64) {
        self.earliest = earliest
        self.latest = latest
        self.kinds = kinds
    }

    mutating func include(kind: Int, at time: Int64) {
        include(RecordBounds(earliest: time, latest: time, kinds: RecordFile.kindBit(kind)))
    }

    mutating func include(_ other: RecordBounds) {
        earliest = min(earliest, other.earliest)
        latest = max(latest, other.latest)
        kinds |= other.kinds
    }

    /// Whether a record that is asked for may be among them.
    /// - Parameter kindBits: `nil` for any kind.
    func meet(_ times: RecordTimes, kindBits: UInt64?) -> Bool {
        earliest <= latest && times.from.map { latest >= $0 } ?? true && times.to.map { earliest < $0 } ?? true
            && kindBits.map { kinds & $0 != 0 } ?? true
    }
}
