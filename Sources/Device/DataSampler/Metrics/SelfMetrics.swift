import CoreMetrics
import RecordQueue
import Synchronization
import Transmitter
import WireModel

/// The sampler's own figures: for the host through swift-metrics, for the collector in System samples and beacons. Safe
/// from any thread.
///
/// It bootstraps nothing. It uses the given factory, or the factory of the host's metrics system when the sampler is
/// made. With the default factory, which does nothing, a record costs two atomic additions.
final class SelfMetrics: SelfFiguresSource {
    private struct StreamCounters: Sendable {
        var made: Counter
        var enqueued: Counter
        var sent: Counter
        var waiting: Gauge
        var bytes: Gauge

        init(_ stream: StreamName, _ factory: any MetricsFactory) {
            let dimensions = [(SamplerMetrics.streamDimension, stream.description)]
            made = Counter(label: SamplerMetrics.recordsMade, dimensions: dimensions, factory: factory)
            enqueued = Counter(label: SamplerMetrics.recordsEnqueued, dimensions: dimensions, factory: factory)
            sent = Counter(label: SamplerMetrics.recordsSent, dimensions: dimensions, factory: factory)
            waiting = Gauge(label: SamplerMetrics.queueRecords, dimensions: dimensions, factory: factory)
            bytes = Gauge(label: SamplerMetrics.queueBytes, dimensions: dimensions, factory: factory)
        }
    }

    /// The last values of growing figures, and metrics that are made when first needed.
    private struct Seen {
        var dropped: [StreamName: [DropReason: UInt64]]?
        var acknowledged: [String: UInt64] = [:]
        var sentBytes: UInt64 = 0
        var requests: UInt64 = 0
        var lastFailure: Int64?
        var pagesWritten: UInt64 = 0
        var lostCounters: [String: Counter] = [:]
        var timers: [String: Timer] = [:]
        var slowdown: WireSlowdown?
    }

    private static let pageBytes: UInt64 = 4_096

    private let factory: any MetricsFactory
    private let status: StreamCounters
    private let event: StreamCounters
    private let sample: StreamCounters
    private let sentBytes: Counter
    private let requests: Counter
    private let failures: Counter
    private let queueWritten: Counter
    private let backoff: Gauge
    private let slowdown: Gauge

    private let made = Atomic<UInt64>(0)
    private let lost = Atomic<UInt64>(0)
    private let seen = Mutex(Seen())

    /// - Parameter factory: the host's factory. The default is the one of its metrics system, which does nothing until
    ///   it is bootstrapped.
    init(factory: any MetricsFactory = MetricsSystem.factory) {
        self.factory = factory
        status = StreamCounters(.status, factory)
        event = StreamCounters(.event, factory)
        sample = StreamCounters(.sample, factory)
        sentBytes = Counter(label: SamplerMetrics.sentBytes, factory: factory)
        requests = Counter(label: SamplerMetrics.requests, factory: factory)
        failures = Counter(label: SamplerMetrics.failures, factory: factory)
        queueWritten = Counter(label: SamplerMetrics.queueWrittenBytes, factory: factory)
        backoff = Gauge(label: SamplerMetrics.backoffSeconds, factory: factory)
        slowdown = Gauge(label: SamplerMetrics.slowdown, factory: factory)
    }

    private func counters(_ stream: StreamName) -> StreamCounters {
        switch stream {
        case .status: status
        case .event: event
        case .sample: sample
        }
    }

    // MARK: What happens

    /// A record was made, whatever becomes of it.
    func recordMade(_ stream: StreamName) {
        made.add(1, ordering: .relaxed)
        counters(stream).made.increment()
    }

    func recordEnqueued(_ stream: StreamName) { counters(stream).enqueued.increment() }

    /// Records the duration of taking a sample.
    func sampled(module: String, _ duration: Duration) {
        let timer = seen.withLock { seen in
            if let timer = seen.timers[module] { return timer }
            let timer = Timer(
                label: SamplerMetrics.sampleDuration, dimensions: [(SamplerMetrics.moduleDimension, module)],
                factory: factory)
            // There are few modules, and the program names them.
            seen.timers[module] = timer
            return timer
        }
        let (seconds, attoseconds) = duration.components
        timer.recordNanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }

    /// Accepts the queue's present status. Losses are the growth of its counts since the first call, so losses of
    /// former processes are not counted again. A count that went back counts as no loss.
    func update(queue status: QueueStatus) {
        for (stream, figures) in status.streams {
            counters(stream).waiting.record(figures.waiting)
            counters(stream).bytes.record(figures.waitingBytes)
        }
        let dropped = status.streams.mapValues(\.dropped)
        let (grown, pages) = seen.withLock { seen in
            let losses = seen.dropped.map { Self.grown(from: $0, to: dropped) } ?? []
            seen.dropped = dropped
            let pages =
                status.pagesWritten >= seen.pagesWritten ? status.pagesWritten - seen.pagesWritten : status.pagesWritten
            seen.pagesWritten = status.pagesWritten
            return (losses.map { (lostCounter(&seen, $0.stream, $0.reason), $0.count) }, pages)
        }
        for (counter, count) in grown {
            lost.add(count, ordering: .relaxed)
            counter.increment(by: count)
        }
        if pages > 0 { queueWritten.increment(by: pages * Self.pageBytes) }
    }

    func update(transmitter status: TransmitterStatus, wallTime: Int64) {
        let (bytes, requests, failed, sent) = seen.withLock { seen in
            defer {
                seen.sentBytes = status.sentBytes
                seen.requests = status.requests
                seen.lastFailure = status.lastFailure
                seen.acknowledged = status.acknowledged
            }
            let sent = StreamName.allCases.map { stream in
                let name = stream.description
                return (stream, Self.growth(seen.acknowledged[name] ?? 0, status.acknowledged[name] ?? 0))
            }
            return (
                Self.growth(seen.sentBytes, status.sentBytes), Self.growth(seen.requests, status.requests),
                status.lastFailure != nil && status.lastFailure != seen.lastFailure, sent
            )
        }
        if bytes > 0 { sentBytes.increment(by: bytes) }
        if requests > 0 { self.requests.increment(by: requests) }
        if failed { failures.increment() }
        for (stream, count) in sent where count > 0 { counters(stream).sent.increment(by: count) }
        let wait = status.state == .backingOff ? status.nextAttempt.map { max(0, $0 - wallTime) } ?? 0 : 0
        backoff.record(Double(wait) / 1_000_000)
    }

    func update(slowdown verdict: BudgetVerdict) {
        seen.withLock { $0.slowdown = verdict.wire }
        slowdown.record(verdict.factor)
    }

    // MARK: What is reported

    /// The figures of this process for the System sample and the beacon.
    func selfFigures() -> SelfFigures {
        var figures = SelfFigures()
        figures.recordsMade = made.load(ordering: .relaxed)
        figures.recordsLost = lost.load(ordering: .relaxed)
        seen.withLock { seen in
            figures.sentBytes = seen.sentBytes
            figures.queueWrittenBytes = seen.pagesWritten * Self.pageBytes
            figures.slowdown = seen.slowdown
        }
        return figures
    }

    // MARK: Differences

    private func lostCounter(_ seen: inout Seen, _ stream: StreamName, _ reason: DropReason) -> Counter {
        let key = "\(stream) \(reason)"
        if let counter = seen.lostCounters[key] { return counter }
        let counter = Counter(
            label: SamplerMetrics.recordsLost,
            dimensions: [(SamplerMetrics.streamDimension, "\(stream)"), (SamplerMetrics.reasonDimension, "\(reason)")],
            factory: factory)
        seen.lostCounters[key] = counter
        return counter
    }

    private static func grown(
        from before: [StreamName: [DropReason: UInt64]], to now: [StreamName: [DropReason: UInt64]]
    ) -> [(stream: StreamName, reason: DropReason, count: UInt64)] {
        now.flatMap { stream, reasons in
            reasons.compactMap { reason, count in
                let growth = growth(before[stream]?[reason] ?? 0, count)
                // Records moved into a new epoch are not lost.
                return growth > 0 && reason != .moved ? (stream, reason, growth) : nil
            }
        }
    }

    /// A figure that went back says nothing.
    private static func growth(_ before: UInt64, _ now: UInt64) -> UInt64 { now > before ? now - before : 0 }
}
