import WireModel

/// Why an epoch ended.
package enum EpochEnd: String, Sendable, CaseIterable, Codable {
    /// Histories diverged on the same machine: an image of the disk was brought back, or the collector was.
    case restored
    /// The queue was copied to another machine.
    case clone
    case wiped
    case unenrolled
    /// Bound to somebody else, who gets what waits.
    case reboundSend = "rebound-send"
    /// Bound to somebody else, who gets nothing of it.
    case reboundDrop = "rebound-drop"
    /// The file was corrupt: what was readable waits. The queue does this by itself.
    case salvaged

    /// Under which the collector counts what the epoch has between its mark and its last number.
    var reason: DropReason {
        switch self {
        case .restored, .salvaged, .reboundSend: .moved
        case .clone: .clone
        case .wiped: .wiped
        case .unenrolled: .unenrolled
        case .reboundDrop: .rebound
        }
    }

    /// Whether what waits is kept, to be queued anew.
    var keepsRecords: Bool { reason == .moved }

    /// Reasons under which an epoch's end gives up what waits. No record is dropped under one of them otherwise.
    static let abandoning = Set(allCases.filter { !$0.keepsRecords }.map(\.reason))

    /// For numbers that have no row any more.
    var missingReason: DropReason { self == .salvaged ? .salvage : .unreadable }
}
