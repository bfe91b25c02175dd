/// A collector's outcome for one part.
package enum PartOutcome: Int, Equatable, Sendable {
    case unknown = 0
    case stored = 1
    case already = 2
    case damaged = 3
    case tooLarge = 4
    case unavailable = 5
    case identityConflict = 6
    case closed = 7
}

/// A collector's answer to one part: its outcome and the stream's mark as it stands on disk.
package struct PartAnswer: Equatable, Sendable {
    package var epoch: EpochID
    package var stream: StreamName
    package var outcome: PartOutcome
    package var mark: StreamMark
    /// For people.
    package var detail: String

    package init(epoch: EpochID, stream: StreamName, outcome: PartOutcome, mark: StreamMark, detail: String = "") {
        self.epoch = epoch
        self.stream = stream
        self.outcome = outcome
        self.mark = mark
        self.detail = detail
    }
}
