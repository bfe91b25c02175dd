import WireModel

/// Writes lines into a store for a program that is gone a moment later: no session, no thread, no sealing.
///
/// It goes on in the text that the visitor before it left, so that a thousand short programs do not leave a thousand segments; whoever opens the
/// store to stay seals it. A text of a session whose end nobody has looked at stays as it is: its last lines belong to the crash log.
/// Not `Sendable`: one thread at a time.
package final class LogVisitor {
    private let keeper: StoreKeeper
    private let rules: CaptureRules
    private let scrubber: LineScrubber?
    private let application: SegmentStream
    private let ring: SegmentStream
    private var losses = LossLedger()

    /// - Throws: `.invalid` for a configuration or scrub rules out of range.
    package init(_ configuration: LogStore.Configuration) throws(LogStoreError) {
        try configuration.check()
        let scrubber = try LineScrubber(configuration.scrubbing)
        let (keeper, settings) = (configuration.keeper, configuration.writerSettings)
        self.keeper = keeper
        self.scrubber = scrubber
        rules = CaptureRules(level: configuration.level, hasRing: configuration.ringBytes > 0, isScrubbing: scrubber != nil)
        application = SegmentStream(.application, maximumBytes: settings.segmentBytes, keeper: keeper, isVisiting: true)
        ring = SegmentStream(.ring, maximumBytes: settings.ringSegmentBytes, keeper: keeper, isVisiting: true)
    }

    /// As ``LogStore/deliver(_:)``.
    package func deliver(_ entries: [LogEntry]) -> LogDelivery {
        var intake = LineIntake(rules: rules, scrubber: scrubber)
        for entry in entries { intake.add(entry) }
        let before = (application.written.total, ring.written.total)
        application.beginTurn(&losses)
        ring.beginTurn(&losses)
        intake.buffer.forEach { line in
            (line.isRing ? ring : application).append(time: line.time, level: line.level, body: line.body, &losses)
        }
        application.flush(&losses)
        ring.flush(&losses)
        // What was lost counts in the store, where it can be reached at all.
        if (try? keeper.count(losses.unsaved)) != nil { losses.saved() }
        return intake.delivery(
            written: application.written.total - before.0, ring: ring.written.total - before.1, failure: losses.failure)
    }
}
