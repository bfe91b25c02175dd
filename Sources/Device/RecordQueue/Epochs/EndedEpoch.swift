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
    /// Where it is kept aside.
    var file: String
    var salvaged: UInt64
    /// Numbers that had no readable row.
    var lost: UInt64
}
