import FoundationEssentials
import RecordStore
import Registry
import SQLite
import WireModel

/// A slice's row without its records, to decide which are packed together.
struct SliceOutline: Sendable {
    var id: Int64
    var chain: Int64
    var first: UInt64
    var last: UInt64
    var lostBefore: UInt64
    var receivedAt: Int64
    var recordCount: Int
    /// Of its records as they are stored.
    var bytes: Int
}

/// A row of `slice`, as it is.
struct SliceRow {
    var chain: Int64
    var first: Int64
    var last: Int64
    var lostBefore: Int64
    var priorLink: Data
    var lastLink: Data
    var receivedAt: Int64
    var bounds: RecordBounds
    var recordCount: Int64
    var gaps: Data
    var records: Data

    /// One row for several that follow each other in their chain.
    /// - Returns: `nil` if they do not.
    init?(joining rows: [SliceRow], records: Data) {
        guard var row = rows.first else { return nil }
        for next in rows.dropFirst() {
            guard next.first == row.last + 1, next.lostBefore == 0, next.priorLink == row.lastLink else { return nil }
            row.last = next.last
            row.lastLink = next.lastLink
            row.receivedAt = max(row.receivedAt, next.receivedAt)
            row.recordCount += next.recordCount
            // Messages one behind the other are one message with the gaps of all.
            row.gaps += next.gaps
        }
        row.bounds = .none
        for part in rows where part.recordCount > 0 { row.bounds.include(part.bounds) }
        row.records = records
        self = row
    }

    private static let columns = """
        chain, first, last, lost_before, prior_link, last_link, received_at, earliest, latest, record_count, kinds, \
        gaps, records
        """
    static let select = "SELECT \(columns) FROM slice WHERE id = ?"
    static let insert = "INSERT INTO slice (\(columns), id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"

    init(_ row: Row) throws(SQLiteError) {
        chain = try row.int64("chain")
        first = try row.int64("first")
        last = try row.int64("last")
        lostBefore = try row.int64("lost_before")
        priorLink = try row.data("prior_link")
        lastLink = try row.data("last_link")
        receivedAt = try row.int64("received_at")
        bounds = try RecordBounds(row)
        recordCount = try row.int64("record_count")
        gaps = try row.data("gaps")
        records = try row.data("records")
    }

    func bind(to statement: Statement, id: Int64) throws(SQLiteError) {
        let hasRecords = recordCount > 0
        try statement.bind(
            chain, first, last, lostBefore, priorLink, lastLink, receivedAt, hasRecords ? bounds.earliest : 0,
            hasRecords ? bounds.latest : 0, recordCount, bounds.kinds, gaps, records, id)
    }
}

extension RecordFile {
    /// The slices above an id that came in the same stretch of time as the first of them, in the order of receipt.
    /// - Parameter stretch: its length in microseconds.
    func outlines(after id: Int64, stretch: Int64) throws(StoreError) -> [SliceOutline] {
        let statement = try prepared(
            """
            SELECT id, chain, first, last, lost_before, received_at, record_count, length(records) AS bytes
            FROM slice WHERE id > ? ORDER BY id
            """, id)
        defer { statement.reset() }
        var found: [SliceOutline] = []
        while try step(statement) {
            let row = statement.row
            let outline = try StoreError.mapping { () throws(SQLiteError) in
                SliceOutline(
                    id: try row.int64("id"), chain: try row.int64("chain"), first: try row.uint64("first"),
                    last: try row.uint64("last"), lostBefore: try row.uint64("lost_before"),
                    receivedAt: try row.int64("received_at"), recordCount: try row.int("record_count"),
                    bytes: try row.int("bytes"))
            }
            guard outline.recordCount >= 0, outline.recordCount <= 1 << 32, outline.bytes >= 0 else {
                throw corrupt("slice \(outline.id) has an impossible count of records")
            }
            if let first = found.first, first.receivedAt / stretch != outline.receivedAt / stretch { break }
            found.append(outline)
        }
        return found
    }

    func row(ofSlice id: Int64) throws(StoreError) -> SliceRow {
        let statement = try prepared(SliceRow.select, id)
        defer { statement.reset() }
        guard try step(statement) else { throw corrupt("slice \(id) is gone") }
        return try StoreError.mapping { () throws(SQLiteError) in try SliceRow(statement.row) }
    }

    /// - Returns: its id, above every id that the file or the one that it replaces has had.
    func insert(_ row: SliceRow) throws(StoreError) -> Int64 {
        let id = try lastSlice() + 1
        try StoreError.mapping { () throws(SQLiteError) in
            let statement = try connection.cached(SliceRow.insert)
            try row.bind(to: statement, id: id)
            try statement.run()
        }
        return id
    }

    func remove(slice id: Int64) throws(StoreError) {
        try StoreError.mapping(connection.run("DELETE FROM slice WHERE id = ?", id))
    }

    // MARK: Keys

    struct KeyRow {
        var range: KeyRange
        var slice: Int64
    }

    /// The keys of some slices of a chain.
    func keys(of chain: Int64, slices: ClosedRange<Int64>) throws(StoreError) -> [KeyRow] {
        let statement = try prepared(
            "SELECT origin, first, last, slice FROM key WHERE chain = ? AND slice BETWEEN ? AND ?", chain,
            slices.lowerBound, slices.upperBound)
        defer { statement.reset() }
        var found: [KeyRow] = []
        while try step(statement) {
            guard let origin = KeyOrigin(statement.data(0)), statement.int64(1) >= 0,
                statement.int64(2) >= statement.int64(1)
            else { throw corrupt("a key of chain \(chain) has impossible numbers") }
            let range = KeyRange(origin: origin, first: UInt64(statement.int64(1)), last: UInt64(statement.int64(2)))
            found.append(KeyRow(range: range, slice: statement.int64(3)))
        }
        return found
    }

    // MARK: Counters

    /// The greatest slice of the file that this one has replaced; `nil` if it is not packed. Cursors up to it are of
    /// the other file.
    func packedAbove() throws(StoreError) -> Int64? { try counter(.packedAbove) }

    /// After a salvage: a file with packed slices counts as packed. Cursors of the time before it may be taken for
    /// those of the file that it had replaced; the day is read again then.
    func recoverPacked() throws(StoreError) {
        let packed = try StoreError.mapping(
            connection.first("SELECT min(id), max(id) FROM slice WHERE substr(records, 1, 4) = x'57533142'") {
                $0.isNull(0) ? nil : (first: $0.int64(0), last: $0.int64(1))
            } ?? nil)
        guard let packed else { return }
        try set(.packedAbove, to: packed.first - 2)
        try set(.lastSlice, to: packed.last)
    }

    func counter(_ counter: Counter) throws(StoreError) -> Int64? {
        try StoreError.mapping(
            connection.first("SELECT count FROM counter WHERE id = ?", counter.rawValue) { $0.int64(0) })
    }

    func set(_ counter: Counter, to count: Int64?) throws(StoreError) {
        try StoreError.mapping { () throws(SQLiteError) in
            guard let count else { return try connection.run("DELETE FROM counter WHERE id = ?", counter.rawValue) }
            try connection.run("INSERT OR REPLACE INTO counter VALUES (?, ?)", counter.rawValue, count)
        }
    }

    /// All that a file has, to compare two of them.
    struct Totals: Equatable {
        var records: Int64
        var rejected: Int64
        var keys: Int64
        var chains: Int64
    }

    func totals() throws(StoreError) -> Totals {
        try StoreError.mapping { () throws(SQLiteError) in
            let keys = try hasKeys() ? "(SELECT count(*) FROM key)" : "0"
            let totals = try connection.first(
                """
                SELECT sum(record_count), (SELECT count(*) FROM rejected), \(keys), (SELECT count(*) FROM chain)
                FROM slice
                """
            ) {
                Totals(records: $0.int64(0), rejected: $0.int64(1), keys: $0.int64(2), chains: $0.int64(3))
            }
            return totals ?? Totals(records: 0, rejected: 0, keys: 0, chains: 0)
        }
    }
}
