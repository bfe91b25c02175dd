import FoundationEssentials
import RecordStore
import Registry
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
    var receivedAt: Int64
    var pieces: [LogPiece]
}

/// Rows of `log_run` ascend as chunks arrive, so a reader that has seen all below a row has seen all that arrived
/// before. SQLite by itself would give the row of a deleted run to the next one.
enum LogRunRows {
    /// The row of `meta` that remembers the greatest row before runs were deleted.
    private static let lastName = "log_run_last"
    /// The row of the next run, as SQL.
    static let nextRow = """
        (SELECT 1 + coalesce(max(known.last), 0) FROM (SELECT max(row) AS last FROM log_run
        UNION ALL SELECT number FROM meta WHERE name = '\(lastName)') AS known)
        """

    static func next(_ connection: any RegistrySession) throws(StoreError) -> Int64 {
        try connection.first("SELECT \(nextRow)") { $0.int64(0) } ?? 1
    }

    /// Must be called in the transaction that deletes runs, before it does.
    static func remember(_ connection: any RegistrySession) throws(StoreError) {
        try connection.run(
            """
            INSERT INTO meta (name, number) VALUES ('\(lastName)', \(nextRow) - 1)
            ON CONFLICT (name) DO UPDATE SET number = excluded.number
            """)
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
        try await readers.read { connection throws(StoreError) in
            let next = try LogRunRows.next(connection)
            let condition = ChunkCondition(query, runs: true)
            var headers: [LogRunHeader] = []
            try connection.query(
                """
                SELECT r.row, r.first_time, r.last_time FROM log_run AS r JOIN chunk AS c ON c.row = r.chunk
                WHERE \(condition.text) ORDER BY \(order == .newest ? "r.last_time DESC" : "r.first_time"), r.row \
                LIMIT \(limit + 1)
                """, condition.values, isKept: false
            ) { row in
                let first = row.int64(1)
                headers.append(LogRunHeader(row: row.int64(0), times: first...max(first, row.int64(2))))
                return true
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
        try await readers.read { connection throws(StoreError) in
            let next = try LogRunRows.next(connection)
            // Mostly nothing has arrived.
            guard row < next else { return ([], next) }
            var condition = ChunkCondition(query, runs: true)
            condition.add("r.row >= ?", row)
            var rows: [Int64] = []
            try connection.query(
                """
                SELECT r.row FROM log_run AS r \(connection.dialect.orderedJoin) chunk AS c ON c.row = r.chunk \
                WHERE \(condition.text)
                ORDER BY r.row LIMIT \(limit)
                """, condition.values, isKept: false
            ) {
                rows.append($0.int64(0))
                return true
            }
            return (rows, next)
        }
    }

    /// The row of the first run that came since a time; if there is none, that of the next run that arrives.
    nonisolated func firstRun(receivedSince time: Int64) async throws(StoreError) -> Int64 {
        try await readers.read { connection throws(StoreError) in
            let first = try connection.first(
                "SELECT min(r.row) FROM log_run AS r JOIN chunk AS c ON c.row = r.chunk WHERE c.received >= ?", time
            ) { $0.isNull(0) ? nil : $0.int64(0) }
            if let first { return first }
            return try LogRunRows.next(connection)
        }
    }

    /// Returns the details in the order of the rows. Runs that were deleted since they were found are left out.
    nonisolated func runDetails(_ rows: [Int64]) async throws(StoreError) -> [LogRunDetail] {
        try await readers.read { connection throws(StoreError) in
            var runs: [LogRunDetail] = []
            for row in rows {
                let run = try connection.first(
                    """
                    SELECT c.row, c.path, c.device, c.log_epoch, r.segment, c.application, c.type, c.ring, c.test, \
                    c.received, r.pieces
                    FROM log_run AS r JOIN chunk AS c ON c.row = r.chunk WHERE r.row = ? \
                    AND c.fate = \(ChunkFate.stored.rawValue)
                    """, row
                ) { found throws(StoreError) -> LogRunDetail? in
                    let (chunk, path) = (try found.int64("row"), try found.string("path"))
                    guard let device = try DeviceID(found.data("device")),
                        let epoch = try LogEpochID(found.data("log_epoch")),
                        let pieces = try found.withBlob("pieces", { LogPiece.decode($0) })
                    else { return nil }
                    return LogRunDetail(
                        row: row, chunk: chunk, path: path, device: device, epoch: epoch,
                        segment: try found.uint64("segment"), application: try found.string("application"),
                        type: try WireLogType(rawValue: found.int("type")).flatMap { LogType($0) },
                        ring: try found.bool("ring"), test: try found.bool("test"),
                        receivedAt: try found.int64("received"), pieces: pieces)
                }
                if let run { runs.append(run) }
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
        return try await readers.read { connection throws(StoreError) in
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
