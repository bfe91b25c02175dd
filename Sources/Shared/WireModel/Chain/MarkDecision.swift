/// What a device does with a mark the collector answered. A pure function: the device's side of exactly-once
/// (Documentation/wire-protocol.md).
package enum MarkDecision: Equatable, Sendable {
    /// Remove everything up to the mark and take its counts over.
    case remove
    /// Not above the device's own mark: changes nothing.
    case old
    /// Inside a gap: nothing to compare; a later part settles it.
    case insideGap
    /// The histories are not the same: stop this epoch.
    case diverged(Divergence)

    package enum Divergence: String, Equatable, Sendable, Codable {
        /// The collector has another history at the place where the part met its mark.
        case identityConflict = "identity-conflict"
        /// The collector closed the epoch.
        case closed
        /// The mark is beyond what this queue ever produced.
        case markBeyondProduced = "mark-beyond-produced"
        /// The device's own link at the mark differs.
        case linkDiffers = "link-differs"
    }

    /// Decides.
    ///
    /// - Parameters:
    ///   - answered: the mark from the collector, for this very epoch and stream.
    ///   - ownMark: the number of the mark the device has on disk.
    ///   - lastProduced: the stream's last number.
    ///   - ownLink: the device's own link at a number: of a record it holds, or of the last number of a gap; `nil`
    ///     inside a gap.
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
