import WireModel

/// A rule of ending epochs, deliberately broken.
enum BrokenCloseRule: String, CaseIterable, Sendable {
    /// Believes that the collector has none of the records it was asked about.
    case queuesAllAnew
    /// Believes that the collector has all of them.
    case queuesNothingAnew
    /// Forgets that the records of a dropped epoch are to be reported: goes on without closing it.
    case neverCloses
    /// Counts what another branch of the history has sent as the records that were given up here.
    case takesOthersForItsOwn
    /// Says why records were given up, although it may have said before that they are moved.
    case changesTheReason
    /// Does not report what it has dropped since the last part.
    case keepsTheLastTotals

    /// - Parameter isGivenUp: the epoch was kept, and then given up.
    func falsify(_ request: inout WireCloseRequest, isGivenUp: Bool) {
        for index in request.streams.indices {
            switch self {
            case .changesTheReason where isGivenUp: request.streams[index].reason = .wiped
            case .keepsTheLastTotals: request.streams[index].clearTotals()
            default: break
            }
        }
    }

    func falsify(_ answer: inout WireCloseAnswer, to request: WireCloseRequest) {
        for index in answer.streams.indices {
            guard let asked = request.streams.first(where: { $0.stream == answer.streams[index].stream }) else {
                continue
            }
            let mark = answer.streams[index].mark.number
            switch self {
            case .queuesAllAnew:
                answer.streams[index].clearMatched()
                // The mark's link says it as well.
                if mark > 0 { answer.streams[index].mark.link = ChainLink(high: .max, low: mark).data }
            case .queuesNothingAnew:
                if let greatest = asked.points.max(by: { $0.number < $1.number }) {
                    answer.streams[index].matched = greatest
                }
            case .takesOthersForItsOwn where asked.reason != .moved:
                let greatest = asked.points.filter { $0.number <= mark }.max { $0.number < $1.number }
                if let greatest { answer.streams[index].matched = greatest }
            default: break
            }
        }
    }
}
