import FoundationEssentials

/// Any prefix of what a stream holds on synced disk, gaps included: its items tile `first...last`.
package struct BatchPart: Equatable, Sendable {
    package var epoch: EpochID
    package var stream: StreamName
    package var first: UInt64
    package var last: UInt64
    /// `link(first - 1)`.
    package var priorLink: ChainLink
    /// `link(last)`.
    package var lastLink: ChainLink
    /// Ascending.
    package var gaps: [Gap]
    package var totals: StreamTotals
    /// Serialized records, ascending: the numbers not covered by gaps.
    package var records: [Data]

    package init(
        epoch: EpochID, stream: StreamName, first: UInt64, last: UInt64, priorLink: ChainLink, lastLink: ChainLink,
        gaps: [Gap] = [], totals: StreamTotals = StreamTotals(), records: [Data]
    ) {
        self.epoch = epoch
        self.stream = stream
        self.first = first
        self.last = last
        self.priorLink = priorLink
        self.lastLink = lastLink
        self.gaps = gaps
        self.totals = totals
        self.records = records
    }

    /// Numbers above this are refused everywhere, so that sums and SQLite's signed integers cannot overflow.
    package static let greatestNumber: UInt64 = 1 << 62
}

/// The three first-in first-out streams of an epoch. The raw value is on the wire and on disk, for ever.
///
/// Ordered by importance: status is sent first and dropped last.
package enum StreamName: Int, CaseIterable, Hashable, Sendable, Codable, Comparable, CustomStringConvertible {
    /// Beacons and command results.
    case status = 1
    /// Analytics events.
    case event = 2
    /// Samples of all modules.
    case sample = 3

    package init?(name: String) {
        guard let stream = Self.allCases.first(where: { $0.description == name }) else { return nil }
        self = stream
    }

    package var description: String {
        switch self {
        case .status: "status"
        case .event: "event"
        case .sample: "sample"
        }
    }

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// Records `first...last` left their stream at its front for one reason; the chain goes on over them from `link`.
package struct Gap: Hashable, Sendable {
    package let first: UInt64
    package let last: UInt64
    package let reason: DropReason
    /// `link(last)`.
    package let link: ChainLink

    package init(first: UInt64, last: UInt64, reason: DropReason, link: ChainLink) {
        self.first = first
        self.last = last
        self.reason = reason
        self.link = link
    }

    package var count: UInt64 { last - first + 1 }

    /// This gap and the one right behind it as one, or `nil` where they do not touch or differ in reason:
    /// only neighbours with the same reason merge.
    package func merged(with next: Gap) -> Gap? {
        guard next.first == last + 1, next.reason == reason else { return nil }
        return Gap(first: first, last: next.last, reason: reason, link: next.link)
    }
}

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
