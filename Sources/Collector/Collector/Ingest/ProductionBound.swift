import RecordStore
import WireModel

/// The most records that a device can have produced in one stream of an epoch. Claims beyond it are refused. Pure.
///
/// Gaps, running totals and the last number of a closed epoch are claims of the device without records as proof.
/// Balances and the fleet's totals follow them. So they are limited by the time that the device had:
///
///     2^32 + 10,000 a second x seconds since it was first enrolled
///
/// The rate is an average over the device's whole life and per stream. A device that samples every second makes some
/// tens a second. One that makes 10,000 a second without a pause would send 100 GB a day. Bursts are faster, hundreds
/// of thousands a second, but 2^32 records are hours of that. The 2^32 also cover records from before the enrollment (a
/// year of more than 100 a second), and a device whose enrollment a restore lost. Offline time counts, because the time
/// runs from the enrollment.
///
/// A refusal is temporary (429, an hour), and nothing is dropped or quarantined. If an honest device ever reaches the
/// limit, it continues later: the limit grows by 36 million an hour. 2^32 records are five days at this rate, so the
/// collector's clock may be wrong by days without harm.
struct ProductionBound: Equatable {
    static let slack: UInt64 = 1 << 32
    static let perSecond: UInt64 = 10_000

    let records: UInt64

    /// - Parameter created: when the device was first enrolled, and `now`: microseconds since 1970 by the collector's
    ///   clock.
    init(created: Int64, now: Int64) {
        let (elapsed, overflow) = now.subtractingReportingOverflow(created)
        let seconds = overflow ? 0 : UInt64(max(0, elapsed) / 1_000_000)
        let (product, isHuge) = seconds.multipliedReportingOverflow(by: Self.perSecond)
        var bound = Self.slack
        bound.addSaturating(isHuge ? .max : product)
        records = bound
    }

    /// - Throws: `Problem` if a part claims more.
    func check(_ parts: [BatchPart]) throws(Problem) {
        for part in parts {
            try check(part.last, "the last number", part.stream)
            try check(part.totals, part.stream)
        }
    }

    /// - Throws: `Problem` if a stream claims more.
    func check(_ close: EpochClose) throws(Problem) {
        for stream in close.streams {
            try check(stream.last, "the last number", stream.stream)
            if let totals = stream.totals { try check(totals, stream.stream) }
        }
    }

    private func check(_ totals: StreamTotals, _ stream: StreamName) throws(Problem) {
        try check(totals.produced, "the number of produced records", stream)
        try check(totals.waiting, "the number of waiting records", stream)
        try check(totals.apart, "the number of records apart", stream)
        try check(totals.dropped.values.saturatingSum, "the number of dropped records", stream)
        try check(totals.droppedUnnumbered.values.saturatingSum, "the number dropped without a number", stream)
    }

    private func check(_ claimed: UInt64, _ what: String, _ stream: StreamName) throws(Problem) {
        guard claimed > records else { return }
        throw Problem(
            status: 429, code: .productionImplausible, title: "More records than possible",
            detail: "In the \(stream) stream, \(what) is \(claimed). Since its enrollment, this device can have "
                + "produced at most \(records) records: \(Self.slack), and \(Self.perSecond) per second.",
            retryable: true, scope: .device, retryAfterMs: 3_600_000, limit: Int(clamping: records))
    }
}
