/// One stream's balance: every record produced is stored, rejected, dropped, lost at the collector, or waiting.
///
/// Both sides print it; `Codable` is its JSON form.
package struct StreamBalance: Equatable, Sendable, Codable {
    package var produced: UInt64
    package var stored: UInt64
    package var rejected: [String: UInt64]
    package var dropped: [String: UInt64]
    package var lostAtCollector: UInt64
    package var waiting: UInt64
    /// Whether produced = stored + rejected + dropped + lostAtCollector + waiting.
    package let closes: Bool

    package init(
        produced: UInt64, stored: UInt64, rejected: [RejectReason: UInt64], dropped: [DropReason: UInt64],
        lostAtCollector: UInt64, waiting: UInt64
    ) {
        self.produced = produced
        self.stored = stored
        self.rejected = Dictionary(uniqueKeysWithValues: rejected.filter { $0.value > 0 }.map { ($0.key.description, $0.value) })
        self.dropped = Dictionary(uniqueKeysWithValues: dropped.filter { $0.value > 0 }.map { ($0.key.description, $0.value) })
        self.lostAtCollector = lostAtCollector
        self.waiting = waiting
        let accounted = StreamMark(
            number: produced, stored: stored, rejected: rejected, dropped: dropped, lostAtCollector: lostAtCollector)
        let (covered, overflow) = produced.subtractingReportingOverflow(waiting)
        closes =
            !overflow
            && {
                var mark = accounted; mark.number = covered; return mark.addsUp
            }()
    }
}
