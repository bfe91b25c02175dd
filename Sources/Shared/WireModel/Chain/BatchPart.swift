import FoundationEssentials

/// A prefix of what a stream holds on synced disk. Its records and gaps together cover `first...last` without a hole.
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
    /// Serialized records, ascending. They have the numbers that no gap covers.
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

    /// The greatest accepted number. The limit keeps sums and SQLite's signed integers from overflowing.
    package static let greatestNumber: UInt64 = 1 << 62
}

/// The three streams of an epoch, each first in, first out. The raw values are used on the wire and on disk and never
/// change.
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

/// The records `first...last` left their stream at its front for one reason. The chain continues after them from
/// `link`.
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

    /// Joins this gap with the one directly after it. `nil` if they are not adjacent or differ in reason.
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

/// A collector's answer to one part: the outcome, and the stream's mark on disk.
package struct PartAnswer: Equatable, Sendable {
    package var epoch: EpochID
    package var stream: StreamName
    package var outcome: PartOutcome
    package var mark: StreamMark
    /// An explanation for people.
    package var detail: String

    package init(epoch: EpochID, stream: StreamName, outcome: PartOutcome, mark: StreamMark, detail: String = "") {
        self.epoch = epoch
        self.stream = stream
        self.outcome = outcome
        self.mark = mark
        self.detail = detail
    }
}
