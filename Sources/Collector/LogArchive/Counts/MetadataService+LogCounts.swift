import FoundationEssentials
import RecordStore
import Registry
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
                SELECT r.row, c.device, c.log_epoch, r.segment, r.first_time, r.last_time, r.errors, r.warnings, \
                r.informations,
                r.verboses FROM log_run AS r JOIN chunk AS c ON c.row = r.chunk WHERE \(condition.text) \
                LIMIT \(limit + 1)
                """, condition.values, isKept: false
            ) { row throws(StoreError) in
                let id = try row.int64("row")
                guard let device = try DeviceID(row.data("device")),
                    let epoch = try LogEpochID(row.data("log_epoch"))
                else { return true }
                isOver = runs.count >= limit
                guard !isOver else { return false }
                let segment = try row.uint64("segment")
                let (first, last) = (try row.int64("first_time"), try row.int64("last_time"))
                runs.append(
                    CountedLogRun(
                        row: id, segment: LogSegment.Key(device: device, epoch: epoch, segment: segment),
                        times: first...max(first, last),
                        levels: try [
                            row.uint64("errors"), row.uint64("warnings"), row.uint64("informations"),
                            row.uint64("verboses"),
                        ]))
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
                row throws(StoreError) in try row.string("value")
            }
            other.devices = []
            other.predecessors = []
            var devices = try connection.logFacets(other, by: "c.device", limit: LogFacets.maximumValues) {
                row throws(StoreError) in try DeviceID(row.data("value")).map { LogFacets.Device(id: $0) }
            }
            for place in devices.facets.indices {
                let device = try DeviceRow.one(devices.facets[place].value.id, in: connection)
                devices.facets[place].value.name = device?.newestName
            }
            var ofType = query
            ofType.type = nil
            let types = try connection.logFacets(ofType, by: "c.type", limit: 10) { row throws(StoreError) in
                .some(try WireLogType(rawValue: row.int("value")).flatMap { LogType($0) })
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
            SELECT count(*) AS chunks, CAST(coalesce(sum(\(Self.lineSum)), 0) AS bigint) AS lines,
            CAST(coalesce(sum(c.raw_bytes), 0) AS bigint) AS bytes, min(c.first_time) AS first_time,
            max(c.last_time) AS last_time FROM chunk AS c WHERE \(condition.text)
            """, condition.values, isKept: false
        ) { row throws(StoreError) in
            total = (try row.int("chunks"), try row.uint64("lines"), try row.int("bytes"), nil)
            guard let first = try row.optionalInt64("first_time") else { return false }
            let last = try row.int64("last_time")
            if first <= last { total.times = (first...last).clamped(to: Timestamp.range) }
            return false
        }
        return total
    }

    /// - Parameters:
    ///   - column: over `chunk AS c`.
    ///   - value: of a row, which has the column as `value`; `nil` leaves it out.
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
            SELECT count(*) OVER () AS all_values, \(column) AS value, count(*) AS chunks,
            CAST(sum(\(Self.lineSum)) AS bigint) AS lines, CAST(sum(c.raw_bytes) AS bigint) AS bytes
            FROM chunk AS c WHERE \(condition.text)
            GROUP BY \(column) ORDER BY lines DESC, \(column) LIMIT \(limit)
            """, condition.values, isKept: false
        ) { row throws(StoreError) in
            count = try row.int("all_values")
            guard let value = try value(row) else { return true }
            facets.append(
                LogFacet(
                    value: value, chunks: try row.int("chunks"), lines: try row.uint64("lines"),
                    bytes: try row.int("bytes")))
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
            count(*) FILTER (WHERE c.\($0) > 0) AS chunks_\($0),
            CAST(coalesce(sum(c.\($0)), 0) AS bigint) AS lines_\($0),
            CAST(coalesce(sum(c.raw_bytes) FILTER (WHERE c.\($0) > 0), 0) AS bigint) AS bytes_\($0)
            """
        }
        var facets: [LogFacet<LogLevel>] = []
        try self.query(
            "SELECT \(sums.joined(separator: ", ")) FROM chunk AS c WHERE \(condition.text)", condition.values,
            isKept: false
        ) { row throws(StoreError) in
            for (level, column) in zip(LogLevel.allCases, columns) {
                facets.append(
                    LogFacet(
                        value: level, chunks: try row.int("chunks_\(column)"),
                        lines: try row.uint64("lines_\(column)"), bytes: try row.int("bytes_\(column)")))
            }
            return false
        }
        return facets
    }
}
