import FoundationEssentials
import SQLite
import WireModel

/// A chain's state as columns, the same in a day's file and in the baseline: `mark, totals, part_last, above_part, closed_last,
/// closed_reason, closed_at`. The first two are the wire's own messages (`Mark`, `StreamTotals`); `above_part` is a `StreamTotals` whose
/// `waiting` and `dropped` are those above `part_last`.
extension ChainState {
    static let columns = "mark, totals, part_last, above_part, closed_last, closed_reason, closed_at"
    static let columnDefinitions = """
        mark BLOB NOT NULL, totals BLOB NOT NULL, part_last INTEGER NOT NULL, above_part BLOB NOT NULL,
        closed_last INTEGER, closed_reason INTEGER, closed_at INTEGER
        """
    static let columnCount: Int32 = 7

    func bind(to statement: Statement, from index: Int32) throws(SQLiteError) {
        try statement.bind(mark.wire.encoded, at: index)
        try statement.bind(totals.sent.wire.encoded, at: index + 1)
        try statement.bind(totals.partLast, at: index + 2)
        let above = StreamTotals(waiting: totals.waitingAbovePart, dropped: totals.droppedAbovePart)
        try statement.bind(above.wire.encoded, at: index + 3)
        try statement.bind(closed?.last, at: index + 4)
        try statement.bind((closed?.reason.rawValue).map(Int64.init), at: index + 5)
        try statement.bind(closed?.at, at: index + 6)
    }

    /// - Throws: `.corrupt` where the columns are not what `bind` writes.
    init(_ statement: Statement, from index: Int32, file: String) throws(StoreError) {
        do {
            mark = try StreamMark(WireMark.decode(statement.data(index)))
            totals.sent = StreamTotals(try WireStreamTotals.decode(statement.data(index + 1)))
            totals.partLast = try statement.uint64(index + 2)
            let above = StreamTotals(try WireStreamTotals.decode(statement.data(index + 3)))
            totals.waitingAbovePart = above.waiting
            totals.droppedAbovePart = above.dropped
            if let last = try statement.optionalUInt64(index + 4) {
                closed = Closure(
                    last: last, reason: DropReason(rawValue: statement.int(index + 5)), at: statement.int64(index + 6))
            }
        } catch {
            throw StoreError(.corrupt, "a chain's row in \(file) is not readable: \(error). Run `ws1collector verify`.")
        }
    }
}
