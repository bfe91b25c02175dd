import WireModel

/// An epoch that is over.
struct EndedEpoch: Equatable, Sendable {
    enum Phase: Int, Sendable {
        /// The collector has to be told, and asked what it has.
        case closing = 1
        /// It has answered: what it lacks is on its way into the current epoch, the rest is to be erased.
        case moving = 2
        /// Nothing is left but this note.
        case settled = 3
    }

    let ordinal: Int64
    let id: EpochID
    var end: EpochEnd
    var phase: Phase
    /// The device's wall clock, microseconds since 1970.
    var endedWallTime: Int64
    var salvage: SalvageNote?
    /// While moving: how far it has come, and the rows on their way.
    var streams: StreamLedgers

    /// Whether it ended by a wipe, or one gave up what it had kept.
    var isWiped: Bool { end == .wiped || StreamName.allCases.contains { streams[$0].abandoned?.reason == .wiped } }
}

/// What came of a corrupt file.
struct SalvageNote: Equatable, Sendable {
    /// Why it was given up.
    var cause: String
    /// The folder that keeps the corrupt file.
    var file: String
    var salvaged: UInt64
    /// Numbers that had no readable row.
    var lost: UInt64
}

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

/// What is left to do after an answer to a close.
package enum CloseProgress: Equatable, Sendable {
    /// Ask `nextClose` once more: finer points, or another epoch.
    case again
    /// Nothing is to be closed.
    case settled
}
