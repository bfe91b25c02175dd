/// The decision of a device about a mark from the collector. A pure function: the device's side of exactly-once
/// (Documentation/wire-protocol.md).
package enum MarkDecision: Equatable, Sendable {
    /// Remove everything up to the mark, and adopt the mark's counts.
    case remove
    /// The mark is not above the device's own. Nothing changes.
    case old
    /// The mark is inside a gap, where no link can be compared. A later part will settle it.
    case insideGap
    /// The histories differ. This epoch ends.
    case diverged(Divergence)

    package enum Divergence: String, Equatable, Sendable, Codable {
        /// The collector has another history at the position where the part met its mark.
        case identityConflict = "identity-conflict"
        /// The collector closed the epoch.
        case closed
        /// The mark is above every number that this queue produced.
        case markBeyondProduced = "mark-beyond-produced"
        /// The device's own link at the mark differs.
        case linkDiffers = "link-differs"
    }

    /// Decides about a mark.
    ///
    /// - Parameters:
    ///   - answered: the collector's mark for this epoch and stream.
    ///   - ownMark: the number of the mark on the device's disk.
    ///   - lastProduced: the stream's last number.
    ///   - ownLink: returns the device's own link at the number of a record it holds or at the last number of a gap,
    ///     and `nil` inside a gap.
    package static func decide<Failure: Error>(
        answered: StreamMark, outcome: PartOutcome, ownMark: UInt64, lastProduced: UInt64,
        ownLink: (UInt64) throws(Failure) -> ChainLink?
    ) throws(Failure) -> MarkDecision {
        switch outcome {
        case .identityConflict: return .diverged(.identityConflict)
        case .closed: return .diverged(.closed)
        case .stored, .already, .damaged, .tooLarge, .unavailable, .unknown: break
        }
        if answered.number > lastProduced { return .diverged(.markBeyondProduced) }
        if answered.number <= ownMark { return .old }
        guard let own = try ownLink(answered.number) else { return .insideGap }
        return own == answered.link ? .remove : .diverged(.linkDiffers)
    }
}
