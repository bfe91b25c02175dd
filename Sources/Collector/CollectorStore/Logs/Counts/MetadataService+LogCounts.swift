import FoundationEssentials
import TelemetryBasics
import WireModel

/// How many logs there are of something.
package struct LogFacet<Value: Equatable & Sendable>: Equatable, Sendable {
    package var value: Value
    package var chunks: Int
    /// The lines as the chunks have them: a line that came in two chunks counts twice.
    package var lines: UInt64
    /// The bytes of text.
    package var bytes: Int
}

/// Logs by what they can be filtered by. Whole chunks are counted, as `MetadataService.chunks` lists them.
package struct LogFacets: Equatable, Sendable {
    package struct Device: Equatable, Sendable {
        package var id: DeviceID
        /// `nil` if the device was deleted.
        package var name: String?
    }

    /// The chunks that the whole query selects.
    package var chunks: Int
    package var lines: UInt64
    package var bytes: Int
    /// The times of the earliest and the latest line; `nil` if there is none.
    package var times: ClosedRange<Int64>?

    // Each of these leaves the query's own condition of the same kind out, so they show what else could be chosen.

    /// Those with the most lines first.
    package var applications: [LogFacet<String>]
    package var applicationCount: Int
    /// `nil` for chunks with lines of several types.
    package var types: [LogFacet<LogType?>]
    /// Lines of each level alone, most severe first, and the chunks that have such.
    package var levels: [LogFacet<LogLevel>]
    /// Those with the most lines first.
    package var devices: [LogFacet<Device>]
    package var deviceCount: Int

    /// The most applications, and the most devices.
    package static let maximumValues = 100
}

extension MetadataService {
    /// - Returns: `nil` if there are more than `limit`.
    nonisolated func countedRuns(_ query: LogQuery, limit: Int) async throws(StoreError) -> [CountedLogRun]? {
        try await readers.read { connection throws(StoreError) in
            let condition = ChunkCondition(query, runs: true)
            var runs: [CountedLogRun] = []
            var isOver = false
            try connection.query(
                """
                SELECT r.row, c.device, c.log_epoch, r.segment, r.first_time, r.last_time, r.errors, r.warnings, r.informations,
                r.verboses FROM log_run AS r JOIN chunk AS c ON c.row = r.chunk WHERE \(condition.text) LIMIT \(limit + 1)
                """, condition.values, isKept: false
            ) { row throws(StoreError) in
                guard let device = DeviceID(row.data(1)), let epoch = LogEpochID(row.data(2)) else { return true }
                isOver = runs.count >= limit
                guard !isOver else { return false }
                let first = row.int64(4)
                runs.append(
                    CountedLogRun(
                        row: row.int64(0),
                        segment: LogSegment.Key(device: device, epoch: epoch, segment: try row.uint64(3)),
                        times: first...max(first, row.int64(5)),
                        levels: try [row.uint64(6), row.uint64(7), row.uint64(8), row.uint64(9)]))
                return true
            }
            return isOver ? nil : runs
        }
    }

    /// The times of the earliest and the latest line of chunks that may match; `nil` if there is none.
    package nonisolated func logTimes(_ query: LogQuery) async throws(StoreError) -> ClosedRange<Int64>? {
        try await readers.read { connection throws(StoreError) in try connection.logTotal(query).times }
    }

    package nonisolated func logFacets(_ query: LogQuery) async throws(StoreError) -> LogFacets {
        try await readers.read { connection throws(StoreError) in
            let total = try connection.logTotal(query)
            var (any, other) = (query, query)
            any.application = nil
            let applications = try connection.logFacets(any, by: "c.application", limit: LogFacets.maximumValues) {
                $0.string(0)
            }
            other.devices = []
            other.predecessors = []
            var devices = try connection.logFacets(other, by: "c.device", limit: LogFacets.maximumValues) { row in
                DeviceID(row.data(0)).map { LogFacets.Device(id: $0) }
            }
            for place in devices.facets.indices {
                let device = try DeviceRow.one(devices.facets[place].value.id, in: connection)
                devices.facets[place].value.name = device?.newestName
            }
            var ofType = query
            ofType.type = nil
            let types = try connection.logFacets(ofType, by: "c.type", limit: 10) { row in
                .some(WireLogType(rawValue: row.int(0)).flatMap { LogType($0) })
            }
            return LogFacets(
                chunks: total.chunks, lines: total.lines, bytes: total.bytes, times: total.times,
                applications: applications.facets, applicationCount: applications.count, types: types.facets,
                levels: try connection.logLevelFacets(query), devices: devices.facets, deviceCount: devices.count)
        }
    }
}

extension RegistrySession {
    private static var lineSum: String { "c.errors + c.warnings + c.informations + c.verboses + c.others" }

    fileprivate func logTotal(
        _ query: LogQuery
    ) throws(StoreError) -> (chunks: Int, lines: UInt64, bytes: Int, times: ClosedRange<Int64>?) {
        let condition = ChunkCondition(query)
        var total: (chunks: Int, lines: UInt64, bytes: Int, times: ClosedRange<Int64>?) = (0, 0, 0, nil)
        try self.query(
            """
            SELECT count(*), CAST(coalesce(sum(\(Self.lineSum)), 0) AS bigint), CAST(coalesce(sum(c.raw_bytes), 0) AS bigint),
            min(c.first_time), max(c.last_time) FROM chunk AS c WHERE \(condition.text)
            """, condition.values, isKept: false
        ) { row throws(StoreError) in
            total = (row.int(0), try row.uint64(1), row.int(2), nil)
            if !row.isNull(3), row.int64(3) <= row.int64(4) {
                total.times = (row.int64(3)...row.int64(4)).clamped(to: Timestamp.range)
            }
            return false
        }
        return total
    }

    /// - Parameters:
    ///   - column: over `chunk AS c`.
    ///   - value: of a row `column, chunks, lines, bytes, values`; `nil` leaves it out.
    /// - Returns: those with the most lines, and how many values there are.
    fileprivate func logFacets<Value>(
        _ query: LogQuery, by column: String, limit: Int,
        _ value: (RegistryRow) throws(StoreError) -> Value?
    ) throws(StoreError) -> (facets: [LogFacet<Value>], count: Int) {
        let condition = ChunkCondition(query)
        var facets: [LogFacet<Value>] = []
        var count = 0
        try self.query(
            """
            SELECT \(column), count(*), CAST(sum(\(Self.lineSum)) AS bigint) AS lines, CAST(sum(c.raw_bytes) AS bigint),
            count(*) OVER () FROM chunk AS c WHERE \(condition.text)
            GROUP BY \(column) ORDER BY lines DESC, \(column) LIMIT \(limit)
            """, condition.values, isKept: false
        ) { row throws(StoreError) in
            count = row.int(4)
            guard let value = try value(row) else { return true }
            facets.append(
                LogFacet(value: value, chunks: row.int(1), lines: try row.uint64(2), bytes: row.int(3)))
            return true
        }
        return (facets, count)
    }

    fileprivate func logLevelFacets(_ query: LogQuery) throws(StoreError) -> [LogFacet<LogLevel>] {
        var query = query
        query.lines.level = .verbose
        let condition = ChunkCondition(query)
        let columns = ["errors", "warnings", "informations", "verboses"]
        let sums = columns.map {
            """
            count(*) FILTER (WHERE c.\($0) > 0), CAST(coalesce(sum(c.\($0)), 0) AS bigint),
            CAST(coalesce(sum(c.raw_bytes) FILTER (WHERE c.\($0) > 0), 0) AS bigint)
            """
        }
        var facets: [LogFacet<LogLevel>] = []
        try self.query(
            "SELECT \(sums.joined(separator: ", ")) FROM chunk AS c WHERE \(condition.text)", condition.values,
            isKept: false
        ) { row throws(StoreError) in
            for (place, level) in LogLevel.allCases.enumerated() {
                let column = Int32(3 * place)
                facets.append(
                    LogFacet(
                        value: level, chunks: row.int(column), lines: try row.uint64(column + 1),
                        bytes: row.int(column + 2)))
            }
            return false
        }
        return facets
    }
}
