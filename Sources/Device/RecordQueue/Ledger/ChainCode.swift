import WireModel

/// Which epoch and stream a row belongs to, as one small number: in `ledger`, `tally` and `gap`, and in every record's row, so that a row
/// found in a damaged file says itself where it belongs.
struct ChainCode: Hashable, Sendable {
    /// 1, 2, 3 ... as the file's epochs began; `past` and `consent` are not epochs.
    var ordinal: Int64
    var stream: StreamName

    /// What settled epochs add up to.
    static let past: Int64 = 0
    /// Records that wait for consent.
    static let consent: Int64 = -1

    /// On disk, for ever.
    var rawValue: Int64 { ordinal * 4 + Int64(stream.rawValue) }

    init(ordinal: Int64, stream: StreamName) {
        self.ordinal = ordinal
        self.stream = stream
    }

    init?(rawValue: Int64) {
        guard rawValue >= Self.consent * 4, rawValue < 1 << 40, let stream = StreamName(rawValue: Int(rawValue & 3)) else { return nil }
        self.init(ordinal: rawValue >> 2, stream: stream)
    }
}
