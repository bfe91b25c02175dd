/// Metrics of other programs on this machine. Each source is one module of custom samples, so that modules, intervals,
/// switches, consent and privacy of those hold for it too.
///
///     other program ── exec, StatsD, Prometheus ──► parser ──► SeriesTable ──► collect() ──► custom sample
///
/// A source does nothing before `begin` and after `end`: no program runs, no socket is open and no thread waits, so
/// that a device that may not sample has nothing to throw away. What came in before an `end` is not told afterwards.
/// Safe from any thread.
package protocol MetricSource: AnyObject, Sendable {
    /// The module is sampled from now on. Does nothing the second time.
    func begin()

    /// The module is not sampled any more. Does nothing the second time.
    func end()

    /// The measurements since the last call, with the source's own about itself: never none. One call at a time.
    /// Cancelling it ends it soon.
    func collect() async -> [MetricPoint]

    var report: MetricSourceReport { get }
}

/// How a source fares. Counts are since the start.
package struct MetricSourceReport: Equatable, Sendable {
    /// Series in the last sample, without the source's own.
    package var series = 0
    /// Values that were left out because the source has as many series as it may.
    package var refused: UInt64 = 0
    /// Lines or values that could not be taken in.
    package var invalid: UInt64 = 0
    /// Packets that the kernel dropped because they came faster than they were read.
    package var kernelDrops: UInt64 = 0
    /// What is wrong at present, in words that name the remedy; `nil`: nothing.
    package var problem: String?

    package init() {}
}

/// The counts of a source: those since the last sample, and all.
struct MetricTally {
    private(set) var report = MetricSourceReport()
    private var refused: UInt64 = 0
    private var invalid: UInt64 = 0
    private var kernelDrops: UInt64 = 0
    private var newProblem: String?

    mutating func refuse(_ count: UInt64 = 1) { refused += count }

    /// - Parameter objection: why; the first of a sample is shown.
    mutating func invalid(_ objection: String) {
        invalid += 1
        if newProblem == nil { newProblem = objection }
    }

    mutating func dropped(_ count: UInt64) { kernelDrops += count }

    /// Forgets what has not been told yet.
    mutating func restart() { (refused, invalid, kernelDrops, newProblem) = (0, 0, 0, nil) }

    /// Ends a sample: its own measurements, with which the counts begin anew.
    /// - Parameters:
    ///   - series: measurements of the sample.
    ///   - limit: the most there may be.
    ///   - failure: why the source could not be read; `nil` if it could.
    ///   - countsDrops: the source has a socket.
    mutating func finish(
        series: Int, limit: Int, failure: String?, countsDrops: Bool = false
    ) -> [MetricPoint] {
        report.series = series
        report.refused += refused
        report.invalid += invalid
        report.kernelDrops += kernelDrops
        report.problem = failure ?? newProblem
        if report.problem == nil, refused > 0 {
            report.problem = "\(refused) values were left out: the source may have \(limit) series. Raise its limit"
        }
        if report.problem == nil, kernelDrops > 0 {
            report.problem = "the kernel dropped \(kernelDrops) packets: they came faster than they were read"
        }
        var own = [
            MetricPoint("ws1.metrics.up", unit: "1", .integer(failure == nil ? 1 : 0)),
            MetricPoint("ws1.metrics.series", unit: "{series}", .integer(Int64(series))),
            MetricPoint("ws1.metrics.refused", unit: "{value}", .integer(Int64(clamping: refused))),
            MetricPoint("ws1.metrics.invalid", unit: "{line}", .integer(Int64(clamping: invalid))),
        ]
        if countsDrops {
            own.append(
                MetricPoint("ws1.metrics.kernel_drops", unit: "{packet}", .integer(Int64(clamping: kernelDrops))))
        }
        restart()
        return own
    }
}
