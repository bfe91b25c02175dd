import FoundationEssentials
import SQLite
import WireModel

/// A run as it is found: what its index says, without the pieces.
struct LogRunHeader: Equatable, Sendable {
    /// The row of `log_run`.
    var row: Int64
    var times: ClosedRange<Int64>
}

/// A run with what is shown of its chunk.
struct LogRunDetail: Sendable {
    var row: Int64
    /// The row of `chunk`.
    var chunk: Int64
    var path: String
    var device: DeviceID
    var epoch: LogEpochID
    var segment: UInt64
    var application: String
    /// `nil`: lines of more than one.
    var type: LogType?
    var ring: Bool
    var test: Bool
    var pieces: [LogPiece]
}

/// Rows of `log_run` ascend as chunks arrive, so a reader that has seen all below a row has seen all that arrived
/// before. SQLite by itself would give the row of a deleted run to the next one.
enum LogRunRows {
    /// The row of `meta` that remembers the greatest row before runs were deleted.
    private static let lastName = "log_run_last"
    /// The row of the next run, as SQL.
    static let next = """
        (1 + max(coalesce((SELECT max(row) FROM log_run), 0), coalesce((SELECT value FROM meta WHERE name = '\(lastName)'), 0)))
        """

    static func next(_ connection: Connection) throws(SQLiteError) -> Int64 {
        try connection.first("SELECT \(next)") { $0.int64(0) } ?? 1
    }

    /// Must be called in the transaction that deletes runs, before it does.
    static func remember(_ connection: Connection) throws(SQLiteError) {
        try connection.run("INSERT OR REPLACE INTO meta (name, value) VALUES ('\(lastName)', \(next) - 1)")
    }
}

extension MetadataService {
    /// Runs that may have lines a query matches, in the order of their first line.
    struct FoundRuns: Sendable {
        var headers: [LogRunHeader]
        /// There are more after these.
        var isCut: Bool
        /// The row of the next run that arrives.
        var next: Int64
    }

    /// - Parameter limit: the most headers.
    nonisolated func runHeaders(
        _ query: LogQuery, _ order: LogLineOrder, limit: Int
    ) async throws(StoreError) -> FoundRuns {
        try await readers.read { connection throws(SQLiteError) in
            let next = try LogRunRows.next(connection)
            let condition = ChunkCondition(query, runs: true)
            let statement = try connection.prepare(
                """
                SELECT r.row, r.first_time, r.last_time FROM log_run AS r JOIN chunk AS c ON c.row = r.chunk
                WHERE \(condition.text) ORDER BY \(order == .newest ? "r.last_time DESC" : "r.first_time"), r.row LIMIT \(limit + 1)
                """)
            try condition.bind(to: statement)
            var headers: [LogRunHeader] = []
            while try statement.step() {
                let first = statement.int64(1)
                headers.append(
                    LogRunHeader(row: statement.int64(0), times: first...max(first, statement.int64(2))))
            }
            let isCut = headers.count > limit
            if isCut { headers.removeLast() }
            return FoundRuns(headers: headers, isCut: isCut, next: next)
        }
    }

    /// Rows of runs from `row` on that may have lines a query matches, in the order of arrival.
    /// - Returns: the rows, and the row of the next run that arrives.
    nonisolated func arrivedRuns(
        _ query: LogQuery, from row: Int64, limit: Int
    ) async throws(StoreError) -> (rows: [Int64], next: Int64) {
        try await readers.read { connection throws(SQLiteError) in
            let next = try LogRunRows.next(connection)
            // Mostly nothing has arrived.
            guard row < next else { return ([], next) }
            var condition = ChunkCondition(query, runs: true)
            condition.add("r.row >= ?", row)
            let statement = try connection.prepare(
                """
                SELECT r.row FROM log_run AS r CROSS JOIN chunk AS c ON c.row = r.chunk WHERE \(condition.text)
                ORDER BY r.row LIMIT \(limit)
                """)
            try condition.bind(to: statement)
            var rows: [Int64] = []
            while try statement.step() { rows.append(statement.int64(0)) }
            return (rows, next)
        }
    }

    /// In the order of the rows. Runs that were deleted since they were found are left out.
    nonisolated func runDetails(_ rows: [Int64]) async throws(StoreError) -> [LogRunDetail] {
        try await readers.read { connection throws(SQLiteError) in
            let statement = try connection.cached(
                """
                SELECT c.row, c.path, c.device, c.log_epoch, r.segment, c.application, c.type, c.ring, c.test, r.pieces
                FROM log_run AS r JOIN chunk AS c ON c.row = r.chunk WHERE r.row = ? AND c.fate = \(ChunkFate.stored.rawValue)
                """)
            var runs: [LogRunDetail] = []
            for row in rows {
                try statement.bind(row)
                defer { statement.reset() }
                guard try statement.step(), let device = DeviceID(statement.data(2)),
                    let epoch = LogEpochID(statement.data(3)),
                    let pieces = statement.withBlob(9, { LogPiece.decode($0) })
                else { continue }
                runs.append(
                    LogRunDetail(
                        row: row, chunk: statement.int64(0), path: statement.string(1), device: device, epoch: epoch,
                        segment: try statement.uint64(4), application: statement.string(5),
                        type: WireLogType(rawValue: statement.int(6)).flatMap { LogType($0) },
                        ring: statement.bool(7), test: statement.bool(8), pieces: pieces))
            }
            return runs
        }
    }

    /// The application whose log has a line; `nil` if no stored chunk may have the line.
    /// - Parameter organization: whose chunks are looked at; `nil` for all.
    nonisolated func application(
        ofLine line: LogLineID, organization: String?
    ) async throws(StoreError) -> String? {
        let segment = LogNumber(value: line.number).segment
        return try await readers.read { connection throws(SQLiteError) in
            try connection.first(
                """
                SELECT c.application FROM chunk AS c JOIN log_run AS r ON r.chunk = c.row
                WHERE c.fate = \(ChunkFate.stored.rawValue) AND c.device = ?1 AND c.log_epoch = ?2 AND r.segment = ?3
                AND r.first_time <= ?4 AND r.last_time >= ?4 AND (?5 IS NULL OR c.organization = ?5) LIMIT 1
                """, line.device.data, line.epoch.data, Int64(clamping: segment), line.time, organization
            ) { $0.string(0) }
        }
    }
}
