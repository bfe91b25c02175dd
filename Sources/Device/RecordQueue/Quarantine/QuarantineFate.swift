import WireModel

/// What is known of a record that was quarantined.
package enum QuarantineFate: Int, Sendable {
    /// The collector's mark has not passed its number yet: it may have arrived after all.
    case open = 1
    /// The collector has counted its number as dropped: it does not have the record.
    case notStored = 2
    /// Nobody can tell any more.
    case uncertain = 3
}

extension QuarantineFate: CustomStringConvertible {
    /// The name people and JSON see.
    package var description: String {
        switch self {
        case .open: "open"
        case .notStored: "not-stored"
        case .uncertain: "uncertain"
        }
    }
}

/// What a mark says of the records quarantined whose numbers it passes.
enum QuarantineVerdict: Equatable {
    /// None of them is at the collector.
    case notStored
    /// The collector has decided on all of them as on any other record: they had arrived after all.
    case arrived
    case uncertain
}

extension StreamLedger {
    /// A mark's counts are cumulative, so their growth says what became of the numbers in between. It does not say of
    /// which: where some of several had arrived, or the collector has lost something, all of them are uncertain.
    ///
    /// - Returns: `nil` where nothing was quarantined between the present mark and that one.
    func verdictOnQuarantine(_ answered: StreamMark) -> QuarantineVerdict? {
        let passed = gaps.reduce(UInt64(0)) { sum, gap in
            gap.reason == .quarantined && gap.first <= answered.number
                ? sum + min(gap.last, answered.number) - gap.first + 1 : sum
        }
        guard passed > 0 else { return nil }
        let (before, after) = (mark.dropped[.quarantined] ?? 0, answered.dropped[.quarantined] ?? 0)
        guard answered.lostAtCollector == mark.lostAtCollector, after >= before else { return .uncertain }
        switch after - before {
        case passed: return .notStored
        case 0: return .arrived
        default: return .uncertain
        }
    }
}
