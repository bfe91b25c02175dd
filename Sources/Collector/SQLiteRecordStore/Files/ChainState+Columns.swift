import FoundationEssentials
import RecordStore
import SQLite
import WireModel

/// A chain's state in a row of a record file or of the baseline.
extension ChainState {
    static let columns = "mark, totals, part_last, above_part, closed_last, closed_reason, closed_at"
    static let columnDefinitions = """
        mark BLOB NOT NULL, totals BLOB NOT NULL, part_last INTEGER NOT NULL, above_part BLOB NOT NULL,
        closed_last INTEGER, closed_reason INTEGER, closed_at INTEGER
        """
    /// The number of parameters that `bind` sets.
    static let columnCount: Int32 = 7

    func bind(to statement: Statement, from index: Int32) throws(SQLiteError) {
        let columns = ChainColumns(self)
        try statement.bind(columns.mark, at: index)
        try statement.bind(columns.totals, at: index + 1)
        try statement.bind(columns.partLast, at: index + 2)
        try statement.bind(columns.abovePart, at: index + 3)
        try statement.bind(columns.closedLast, at: index + 4)
        try statement.bind(columns.closedReason, at: index + 5)
        try statement.bind(columns.closedAt, at: index + 6)
    }

    /// Reads `columns`.
    /// - Throws: `.corrupt` if `bind` could not have written the columns.
    init(_ row: Row, file: String) throws(StoreError) {
        var columns: ChainColumns
        do {
            columns = ChainColumns(
                mark: try row.data("mark"), totals: try row.data("totals"), partLast: try row.uint64("part_last"),
                abovePart: try row.data("above_part"))
            columns.closedLast = try row.optionalUInt64("closed_last")
            columns.closedReason = try row.optionalInt64("closed_reason")
            columns.closedAt = try row.optionalInt64("closed_at")
        } catch { throw .unreadableChain(file, "\(error)") }
        try self.init(columns, of: file)
    }
}
