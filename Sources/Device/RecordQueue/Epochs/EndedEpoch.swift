import WireModel

/// An epoch that has ended.
struct EndedEpoch: Equatable, Sendable {
    /// An epoch passes the phases in this order. Stored by name.
    enum Phase: String, Sendable, CaseIterable {
        /// The collector must be informed, and asked what it has.
        case closing
        /// The collector answered. What it lacks moves into the current epoch; the rest is erased.
        case moving
        /// Only this entry is left.
        case settled

        func isAfter(_ other: Phase) -> Bool { Self.allCases.drop { $0 != other }.dropFirst().contains(self) }
    }

    let ordinal: Int64
    let id: EpochID
    var end: EpochEnd
    var phase: Phase
    /// The device's wall clock, microseconds since 1970.
    var endedWallTime: Int64
    var salvage: QueueStatus.Salvage?
    /// While moving: the progress, and the rows that are left.
    var streams: StreamLedgers

    /// Whether it ended by a wipe, or a later wipe abandoned what it had kept.
    var isWiped: Bool { end == .wiped || StreamName.allCases.contains { streams[$0].abandoned?.reason == .wiped } }
}

/// Why an epoch ended.
package enum EpochEnd: String, Sendable, CaseIterable, Codable {
    /// The histories diverged on the same machine: an image of the device's or the collector's disk was restored.
    case restored
    /// The queue was copied to another machine.
    case clone
    case wiped
    case unenrolled
    /// Bound to another collector or device, which receives what waits.
    case reboundSend = "rebound-send"
    /// Bound to another collector or device, which receives nothing of it.
    case reboundDrop = "rebound-drop"
    /// The file was corrupt; what was readable waits. The queue ends the epoch by itself.
    case salvaged
    /// Somebody gave up what is sealed by keys that are gone. The rest waits. Only `giveUpSealed` ends an epoch so.
    case givenUp = "given-up"

    /// The reason under which the collector counts the numbers between its mark and the epoch's last.
    var reason: DropReason {
        switch self {
        case .restored, .salvaged, .givenUp, .reboundSend: .moved
        case .clone: .clone
        case .wiped: .wiped
        case .unenrolled: .unenrolled
        case .reboundDrop: .rebound
        }
    }

    /// Whether waiting records are kept and queued again.
    var keepsRecords: Bool { reason == .moved }

    /// Reasons under which an epoch's end abandons waiting records. Records are dropped under them in no other case.
    static let abandoning = Set(allCases.filter { !$0.keepsRecords }.map(\.reason))

    /// The reason for numbers that have no row any more.
    var missingReason: DropReason { self == .salvaged ? .salvage : .unreadable }
}

/// The step that follows from an answer to a close.
package enum CloseProgress: Equatable, Sendable {
    /// Ask `nextClose` again: for finer points or another epoch.
    case again
    /// Nothing needs to be closed.
    case settled
}
