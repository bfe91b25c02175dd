import Logging
import SQLite
import WireModel

/// Acknowledgement, binding, and the figures.
extension QueueStore {
    func apply(_ answer: PartAnswer) throws -> MarkDecision {
        guard answer.epoch == state.epoch else { return .old }
        if let divergence = state.divergence { return .diverged(divergence.reason) }
        guard answer.mark.addsUp else {
            throw QueueError(
                .invalid,
                "the collector's counts for stream \(answer.stream) do not add up to its mark \(answer.mark.number); not taken over")
        }
        let stream = answer.stream
        let ledger = state[stream]
        let decision = try MarkDecision.decide(
            answered: answer.mark, outcome: answer.outcome, ownMark: ledger.mark.number, lastProduced: ledger.last
        ) { (number: UInt64) throws -> ChainLink? in try link(at: number, of: stream) }
        switch decision {
        case .old, .insideGap: break
        case .remove:
            let size = try bytes(through: answer.mark.number, of: .current(stream))
            checkpointBefore(removing: size)
            try change(deferring: configuration.lossWindow > .zero ? size : nil) { next in
                if let verdict = next[stream].verdictOnQuarantine(answer.mark) {
                    try decideQuarantine(stream, verdict, through: answer.mark.number)
                }
                let count = try delete(through: answer.mark.number, of: .current(stream))
                next[stream].acknowledge(answer.mark, removed: RemovedRows(count: count, bytes: size))
            }
        case .diverged(let reason):
            try change { $0.divergence = QueueDivergence(reason: reason, stream: stream, wallTime: $0.clock.stamp.wallTime) }
            logger.error(
                "queue and collector have diverged", metadata: ["queue.stream": "\(stream)", "queue.reason": "\(reason.rawValue)"])
        }
        return decision
    }

    /// The device's own link at a number above its mark; `nil` inside a gap, and where the row is gone.
    private func link(at number: UInt64, of stream: StreamName) throws -> ChainLink? {
        let ledger = state[stream]
        if number <= ledger.front { return ledger.gaps.first { $0.last == number }?.link }
        if number == ledger.last { return ledger.lastLink }
        let statement = try connection.cached("SELECT link FROM \(RecordTable.current(stream).name) WHERE number = ?")
        try statement.bind(number, at: 1)
        defer { statement.reset() }
        return try statement.step() ? ChainLink(statement.data(0)) : nil
    }

    func bind(to binding: QueueBinding) throws -> BindingOutcome {
        guard let bound = state.binding else {
            try change { $0.binding = binding }
            return .bound
        }
        return bound == binding ? .same : .other(bound)
    }

    /// Clears the binding: whoever comes next binds.
    func unbind() throws {
        try change { $0.binding = nil }
    }
}
