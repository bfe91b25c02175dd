import WireModel

/// The effect of a part on its chain: a pure function of the part and the chain's state, the same for every engine.
package struct ChainStep: Sendable {
    package var outcome: PartOutcome
    /// The detail for people.
    package var detail = ""
    /// The chain afterwards. The same as before if nothing is to be written.
    package var state: ChainState
    /// The slice that is to be stored together with the state.
    package var slice: AcceptedSlice?
    /// The records that become stored, rejected, dropped or lost by it.
    package var counts = StoreCounts()
    /// The incidents that administrators shall hear of, with the number of records concerned.
    package var incidents: [(DeviceIncident, UInt64)] = []

    package init(appending part: BatchPart, to former: ChainState, device: DeviceID) {
        state = former
        if let closed = former.closed {
            outcome = .closed
            detail = "the epoch was closed at number \(closed.last) (\(closed.reason))"
            return
        }
        switch PartDecision.decide(part: part, mark: former.mark) {
        case .damaged(let fault):
            outcome = .damaged
            detail = fault
        case .identityConflict:
            outcome = .identityConflict
            detail = "the history at number \(former.mark.number) differs"
            incidents.append((DeviceIncident(.identityConflict, device: device, stream: part.stream), 1))
        case .already:
            outcome = .already
            // An answer was lost. Newer totals deserve an update of the row; others come from a delayed duplicate.
            guard part.totals.produced > former.totals.sent.produced else { return }
            recordDamage(part, former.mark, since: former, device)
            state.totals = DeviceTotals(of: part)
        case .store(let accepted):
            outcome = .stored
            slice = accepted
            let refused = accepted.records.count { $0.rejection == .policy }
            if refused > 0 {
                detail = "\(refused) records are of a kind that only collectors make; they are rejected"
            }
            let lost = accepted.mark.lostAtCollector.subtractingSaturating(former.mark.lostAtCollector)
            if lost > 0 {
                incidents.append((DeviceIncident(.recordsLost, device: device, stream: part.stream), lost))
            }
            recordDamage(part, accepted.mark, since: former, device)
            counts.add(accepted.mark, since: former.mark)
            state.mark = accepted.mark
            state.totals = DeviceTotals(of: part)
        }
    }

    /// Numbers that the device counts as lost to damage: without a number, and among those up to the mark.
    private mutating func recordDamage(
        _ part: BatchPart, _ mark: StreamMark, since former: ChainState, _ device: DeviceID
    ) {
        func lost(_ totals: StreamTotals, _ mark: StreamMark) -> UInt64 {
            [totals.droppedUnnumbered[.salvage], totals.droppedUnnumbered[.unreadable], mark.dropped[.unreadable]]
                .reduce(into: 0) { $0.addSaturating($1 ?? 0) }
        }
        let more = lost(part.totals, mark).subtractingSaturating(lost(former.totals.sent, former.mark))
        if more > 0 { incidents.append((DeviceIncident(.damagedOnDevice, device: device, stream: part.stream), more)) }
    }

    /// The answer once the step is durable.
    package func answer(to part: BatchPart) -> PartAnswer {
        PartAnswer(epoch: part.epoch, stream: part.stream, outcome: outcome, mark: state.mark, detail: detail)
    }
}
