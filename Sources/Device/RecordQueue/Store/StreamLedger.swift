import WireModel

/// The counts of one stream of one epoch, which every commit updates with the rows. This value has the rules for
/// numbers and gaps.
///
/// Invariant: `1...last` consists of the numbers up to the mark, the gaps from mark + 1 on, and the rows
/// `front + 1 ... last`. Only ended epochs have rows at or below the front. These wait to be erased, or keep number and
/// link for the close.
struct StreamLedger: Equatable, Sendable {
    var last: UInt64 = 0
    var lastLink = ChainLink.zero
    /// The last record's queue time. Later ones are never earlier, so what is due is a prefix.
    var lastQueueTime: Int64 = 0
    /// The number of rows above the front, updated by every insert and delete.
    var rowCount: UInt64 = 0
    /// Bytes of all rows.
    var bytes: UInt64 = 0
    /// The collector's last mark.
    var mark = StreamMark.none
    var gaps: [Gap] = []
    /// Records refused before they had a number.
    var unnumbered: [DropReason: UInt64] = [:]
    /// The search for the last common number, in an ended epoch.
    var closing = CloseSearch()

    /// Everything up to this number has left the table, or only waits to be erased.
    var front: UInt64 { gaps.last?.last ?? mark.number }
    /// `link(front)`.
    var frontLink: ChainLink { gaps.last?.link ?? mark.link }
    /// Numbers above the front without a row: lost by damage.
    var missing: UInt64 { last - front - min(rowCount, last - front) }

    var unnumberedCount: UInt64 { unnumbered.values.reduce(0, +) }
    var produced: UInt64 { last + unnumberedCount }

    /// The gap of the records that waited when an epoch's end abandoned them; it is then the last gap. The rows stay
    /// without content until the close is settled.
    var abandoned: Gap? { gaps.last.flatMap { EpochEnd.abandoning.contains($0.reason) ? $0 : nil } }
    /// The front before anything was abandoned. There may be rows above it.
    var frontOfRows: UInt64 { abandoned.map { $0.first - 1 } ?? front }

    /// The device's drops above the mark, by reason.
    var droppedAboveMark: [DropReason: UInt64] {
        gaps.reduce(into: [:]) { $0[$1.reason, default: 0] += $1.count }
    }

    mutating func append(link: ChainLink, bytes size: Int, queueTime: Int64) {
        last += 1
        lastLink = link
        lastQueueTime = max(lastQueueTime, queueTime)
        rowCount += 1
        bytes += UInt64(size)
    }

    /// The records up to `number` leave without acknowledgement.
    /// - Parameters:
    ///   - link: `link(number)`.
    ///   - removed: the deleted rows.
    mutating func drop(through number: UInt64, link: ChainLink, removed: RemovedRows, reason: DropReason) -> Gap {
        let gap = Gap(first: front + 1, last: number, reason: reason, link: link)
        if let merged = gaps.last?.merged(with: gap) {
            gaps[gaps.count - 1] = merged
        } else {
            gaps.append(gap)
        }
        remove(removed)
        return gap
    }

    /// Drops everything that waits. Its rows stay, to be erased or emptied.
    mutating func abandon(_ reason: DropReason) {
        guard last > front else { return }
        let bytes = bytes
        _ = drop(through: last, link: lastLink, removed: RemovedRows(count: rowCount, bytes: 0), reason: reason)
        self.bytes = bytes
    }

    /// Adopts the collector's mark.
    /// - Parameter removed: the rows up to it.
    mutating func acknowledge(_ answered: StreamMark, removed: RemovedRows) {
        mark = answered
        gaps.removeAll { $0.last <= answered.number }
        remove(removed)
    }

    /// Records, for rows on their way to a new epoch, that everything up to `number` is done with.
    mutating func passed(_ number: UInt64, link: ChainLink = .zero, removed: RemovedRows) {
        mark = StreamMark(number: number, link: link, stored: number)
        if number == last { lastLink = link }
        rowCount -= min(rowCount, removed.count)
        bytes -= min(bytes, removed.bytes)
    }

    /// The sum restarts whenever the table is empty. There are never more rows than numbers; rows that were gone
    /// already are accounted for here.
    private mutating func remove(_ removed: RemovedRows) {
        rowCount = min(rowCount - min(rowCount, removed.count), last - front)
        bytes = rowCount == 0 ? 0 : bytes - min(bytes, removed.bytes)
    }

    /// Rows that are given up: their numbers are missing from now on.
    mutating func lose(_ removed: RemovedRows) { remove(removed) }

    /// All drops: up to the mark as the collector counted them, above it by the gaps, and those without a number.
    var dropped: [DropReason: UInt64] {
        mark.dropped.merging(droppedAboveMark, uniquingKeysWith: +).merging(unnumbered, uniquingKeysWith: +)
    }

    /// The contradiction in a ledger that this code cannot have written; `nil` if there is none.
    var fault: String? {
        guard last <= BatchPart.greatestNumber else { return "last number \(last) is impossible" }
        guard mark.addsUp else { return "the counts of mark \(mark.number) do not add up" }
        guard mark.number <= last else { return "mark \(mark.number) is above the last number \(last)" }
        var position = mark.number
        for gap in gaps {
            guard gap.first == position + 1, gap.last >= gap.first, gap.last <= last else {
                return "gap \(gap.first)...\(gap.last) does not follow \(position)"
            }
            position = gap.last
        }
        // A zero link of a number is one that cannot be opened.
        if front == last, frontLink != lastLink, front == 0 || (frontLink != .zero && lastLink != .zero) {
            return "the chain at \(last) has two links"
        }
        guard rowCount <= last - front else { return "\(rowCount) rows are counted between \(front) and \(last)" }
        guard closing.matched ?? 0 <= last else { return "the matched number is above the last number \(last)" }
        return nil
    }
}

/// Rows that left a table.
struct RemovedRows: Equatable, Sendable {
    var count: UInt64 = 0
    /// The sum of their sizes.
    var bytes: UInt64 = 0
}

/// The search for the greatest number that an ended epoch and the collector have in common.
struct CloseSearch: Equatable, Sendable {
    /// The greatest number known to match.
    var matched: UInt64?
    /// Numbers from here on are known not to match; `nil` if none was offered yet.
    var bound: UInt64?
    /// The collector once did not know.
    var isUnknown = false
}

/// The ledgers of one epoch, one per stream.
struct StreamLedgers: Equatable, Sendable {
    private var values = [StreamLedger](repeating: StreamLedger(), count: StreamName.allCases.count)

    subscript(_ stream: StreamName) -> StreamLedger {
        get { values[stream.rawValue - 1] }
        // In place: a ledger contains arrays, and every record passes here.
        _modify { yield &values[stream.rawValue - 1] }
    }

    var rowCount: UInt64 { values.reduce(0) { $0 + $1.rowCount } }
    var bytes: UInt64 { values.reduce(0) { $0 + $1.bytes } }
}

/// The epoch and stream of a row as one small number. It is in `ledger`, `tally` and `gap` and in every record's row,
/// so a row found in a damaged file shows where it belongs.
struct ChainCode: Hashable, Sendable {
    /// 1, 2, 3 ... as the file's epochs began; `past` is not an epoch.
    var ordinal: Int64
    var stream: StreamName

    /// The sum of settled epochs.
    static let past: Int64 = 0
    /// The valid ordinals of an epoch.
    static let ordinals: Range<Int64> = 1..<1 << 38
    /// The valid ordinals of a marker or of a row found in a damaged file. The ones that follow it are then valid, too.
    static let foundOrdinals: Range<Int64> = 1..<1 << 37

    /// Used on disk; never changes.
    var rawValue: Int64 { ordinal * 4 + Int64(stream.rawValue) }

}

extension ChainCode {
    /// Reads the code of a row that was found in a damaged file.
    init?(rawValue: Int64) {
        guard rawValue >= 0, rawValue < Self.foundOrdinals.upperBound << 2,
            let stream = StreamName(rawValue: Int(rawValue & 3))
        else { return nil }
        self.init(ordinal: rawValue >> 2, stream: stream)
    }
}
