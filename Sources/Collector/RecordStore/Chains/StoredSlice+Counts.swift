import TelemetryBasics
import WireModel

extension DropReason {
    /// Used in files only, never on the wire. Devices' reasons are all below it.
    package static let lostAtCollector = DropReason(rawValue: 1000)
}

extension StreamMark {
    /// Counts one step of a slice.
    package mutating func add(_ step: StoredSlice.Step) {
        switch step {
        case .gap(let gap) where gap.reason == .lostAtCollector: lostAtCollector.addSaturating(gap.count)
        case .gap(let gap): dropped[gap.reason, default: 0].addSaturating(gap.count)
        case .rejected(let rejection): rejected[rejection.reason, default: 0].addSaturating(1)
        case .record: stored.addSaturating(1)
        }
    }
}

extension StoredSlice {
    /// Adds and proves the slice's contents. Its place in the chain is not checked.
    package func count(into mark: inout StreamMark) throws(Fault) {
        var counted = mark
        try walk { _, _, step in counted.add(step) }
        mark = counted
    }
}
