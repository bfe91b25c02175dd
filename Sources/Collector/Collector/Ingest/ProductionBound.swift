import CollectorStore
import WireModel

/// How many records a device can have produced in one stream of an epoch. What it claims beyond that is not taken over.
/// Pure.
///
/// Most of what a device says of its numbers comes without records to show for it: gaps, the last number of an epoch
/// that it closes, running totals. Balances and the fleet's totals follow these claims. So they are bounded by what the
/// device had time for:
///
///     2^32 + 10,000 a second x seconds since it was first enrolled
///
/// The rate is an average over the device's whole life and per stream. A device that samples every second makes some
/// tens a second. One that makes 10,000 a second without a pause would send 100 GB a day. Bursts are faster, hundreds
/// of thousands a second, but 2^32 records are hours of that. The 2^32 are also for what was recorded before the
/// enrollment: a year of more than 100 a second. They are for a device whose enrollment a restored collector has lost,
/// too. How long a device was offline does not matter: its time counts from the enrollment.
///
/// What is refused is refused for a while (429, an hour), as too much for the time that has passed. Nothing of it is
/// dropped or quarantined: should an honest device ever get there, its bound grows by 36 million an hour, and it goes
/// on. The collector's clock may be wrong by days without harm, since 2^32 records stand for five days at the rate.
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

    /// - Throws: `Problem` where one of the parts claims more.
    func check(_ parts: [BatchPart]) throws(Problem) {
        for part in parts {
            try check(part.last, "the last number", part.stream)
            try check(part.totals, part.stream)
        }
    }

    /// - Throws: `Problem` where one of the streams claims more.
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
            detail:
                "In the \(stream) stream, \(what) is \(claimed). Since its enrollment, this device can have "
                + "produced at most \(records) records: \(Self.slack), and \(Self.perSecond) per second.",
            retryable: true, scope: .device, retryAfterMs: 3_600_000, limit: Int(clamping: records))
    }
}
