import Crypto
import FoundationEssentials
import RecordStore
import Registry
import WireModel

/// Answers people's questions about logs.
extension MetadataService {
    /// Chunks that may hold lines a query matches, newest first; what only the text can show (categories, words) is not
    /// examined.
    /// - Parameters:
    ///   - id: those below it; `nil` from the newest.
    ///   - limit: 1 to 1,000.
    package nonisolated func chunks(
        _ query: LogQuery, below id: Int64?, limit: Int
    ) async throws(StoreError) -> ListPage<ChunkRow, Int64> {
        let rows = try await readers.read { connection throws(StoreError) in
            var condition = ChunkCondition(query)
            if let id { condition.add("c.row < ?", id) }
            var rows: [ChunkRow] = []
            try connection.query(
                """
                SELECT c.row, u.id AS upload, c.number, c.device, c.organization, c.application, c.type, c.ring, c.test,
                u.command, c.log_epoch, c.file_name, c.raw_bytes, c.stored_bytes, c.received, c.first_time,
                c.last_time, c.first_number, c.last_number, c.errors, c.warnings, c.informations,
                c.verboses, c.others, c.raw_digest FROM chunk AS c JOIN upload AS u ON u.row = c.upload
                WHERE \(condition.text) ORDER BY c.row DESC LIMIT \(limit + 1)
                """, condition.values, isKept: false
            ) { row throws(StoreError) in
                rows.append(try Self.chunk(row, path: connection.name))
                return true
            }
            return rows
        }
        return ListPage(rows, limit: limit) { $0.id }
    }

    private static func chunk(_ row: RegistryRow, path: String) throws(StoreError) -> ChunkRow {
        let id = try row.int64("row")
        guard let upload = try UploadID(row.data("upload")), let device = try DeviceID(row.data("device")),
            let epoch = try LogEpochID(row.data("log_epoch"))
        else {
            throw StoreError(.corrupt, "\(path): a chunk has impossible ids.")
        }
        var times: ClosedRange<Int64>?
        var numbers: ClosedRange<UInt64>?
        if let first = try row.optionalInt64("first_time") {
            let last = try row.int64("last_time")
            if first <= last { times = first...last }
        }
        if try !row.isNull("first_number"), try row.int64("first_number") <= row.int64("last_number") {
            numbers = try row.uint64("first_number")...row.uint64("last_number")
        }
        return ChunkRow(
            id: id, upload: upload, number: try row.int("number"), device: device,
            organization: try row.string("organization"), application: try row.string("application"),
            type: try WireLogType(rawValue: row.int("type")).flatMap { LogType($0) }, ring: try row.bool("ring"),
            test: try row.bool("test"), command: try row.optionalData("command").flatMap { CommandID($0) },
            logEpoch: epoch, fileName: try row.string("file_name"), rawBytes: try row.int("raw_bytes"),
            rawDigest: try row.data("raw_digest"), storedBytes: try row.int("stored_bytes"),
            received: try row.int64("received"), times: times, numbers: numbers,
            levels: try [
                row.uint64("errors"), row.uint64("warnings"), row.uint64("informations"), row.uint64("verboses"),
            ], otherLines: try row.uint64("others"))
    }

    /// Runs of lines that may match a query, by segment, at one moment.
    nonisolated func segments(_ query: LogQuery) async throws(StoreError) -> [LogSegment] {
        let segments: [LogSegment.Key: LogSegment]? = try await readers.read { connection throws(StoreError) in
            let condition = ChunkCondition(query, runs: true)
            var segments: [LogSegment.Key: LogSegment] = [:]
            var count = 0
            try connection.query(
                """
                SELECT r.row, c.device, c.log_epoch, r.segment, r.first_time FROM log_run AS r JOIN chunk AS c \
                ON c.row = r.chunk
                WHERE \(condition.text)
                """, condition.values, isKept: false
            ) { row throws(StoreError) in
                let run = try row.int64("row")
                guard let device = try DeviceID(row.data("device")),
                    let epoch = try LogEpochID(row.data("log_epoch"))
                else { return true }
                count += 1
                guard count <= LogSegment.maximumRuns else { return false }
                let key = LogSegment.Key(device: device, epoch: epoch, segment: try row.uint64("segment"))
                let start = try row.int64("first_time")
                segments[key, default: LogSegment(key: key, start: .max)].add(run: run, from: start)
                return true
            }
            return count <= LogSegment.maximumRuns ? segments : nil
        }
        guard let segments else {
            throw StoreError(
                .invalid,
                "more than \(LogSegment.maximumRuns) runs of log lines may match. Name a device, or a shorter time.")
        }
        return Array(segments.values)
    }

    /// Runs that were deleted since they were found are left out.
    nonisolated func runs(_ rows: [Int64]) async throws(StoreError) -> [LogRun] {
        try await readers.read { connection throws(StoreError) in
            var runs: [LogRun] = []
            for row in rows {
                let run = try connection.first(
                    """
                    SELECT c.path, r.segment, r.pieces, c.application FROM log_run AS r
                    JOIN chunk AS c ON c.row = r.chunk WHERE r.row = ? AND c.fate = \(ChunkFate.stored.rawValue)
                    """, row
                ) { found throws(StoreError) -> LogRun? in
                    guard let pieces = found.withBlob(2, { LogPiece.decode($0) }) else { return nil }
                    return LogRun(
                        path: found.string(0), application: found.string(3), segment: try found.uint64(1),
                        pieces: pieces)
                }
                if let run { runs.append(run) }
            }
            return runs
        }
    }

    /// How much of their quotas logs use, by organization and application.
    /// - Parameter organization: `nil` for all.
    package nonisolated func logUsage(organization: String?) async throws(StoreError) -> [LogUsageRow] {
        let quota = logQuotas.value.applicationBytes
        return try await readers.read { connection throws(StoreError) in
            try connection.rows(
                """
                SELECT organization, application, test, chunks, raw_bytes, q.bytes AS quota FROM log_usage
                LEFT JOIN log_quota AS q USING (organization, application) WHERE (?1 IS NULL OR organization = ?1)
                ORDER BY organization, application, test
                """, organization
            ) { row throws(StoreError) in
                LogUsageRow(
                    organization: try row.string("organization"), application: try row.string("application"),
                    test: try row.bool("test"), chunks: try row.int("chunks"), rawBytes: try row.int("raw_bytes"),
                    quotaBytes: try row.optionalInt64("quota").map { Int($0) } ?? quota)
            }
        }
    }

    /// Newest first.
    /// - Parameters:
    ///   - command: those that answer it; `nil` for all.
    ///   - limit: 1 to 1,000.
    package nonisolated func uploads(
        of device: DeviceID, command: CommandID?, limit: Int
    ) async throws(StoreError) -> [UploadRow] {
        await ageBeforeReading()
        return try await readers.read { connection throws(StoreError) in
            try connection.rows(
                """
                SELECT u.id, u.application, u.command, u.phase, u.begun, u.expires, u.ended, count(c.row) AS chunks,
                count(*) FILTER (WHERE c.fate = \(ChunkFate.stored.rawValue)) AS stored,
                count(*) FILTER (WHERE c.fate = \(ChunkFate.gone.rawValue)) AS gone,
                count(*) FILTER (WHERE c.fate = \(ChunkFate.deleted.rawValue)) AS deleted,
                CAST(coalesce(sum(c.raw_bytes), 0) AS bigint) AS raw_bytes,
                CAST(coalesce(sum(c.raw_bytes) FILTER (WHERE c.fate = \(ChunkFate.stored.rawValue)), 0) AS bigint)
                    AS stored_raw_bytes
                FROM upload AS u LEFT JOIN chunk AS c ON c.upload = u.row
                WHERE u.device = ?1 AND (?2 IS NULL OR u.command = ?2) GROUP BY u.row ORDER BY u.row DESC LIMIT ?3
                """, device.data, command?.data, limit
            ) { row throws(StoreError) in
                guard let upload = try UploadID(row.data("id")) else { return nil }
                return UploadRow(
                    upload: upload, device: device, application: try row.string("application"),
                    command: try row.optionalData("command").flatMap { CommandID($0) },
                    phase: try UploadPhase(rawValue: row.int("phase")) ?? .expired, begun: try row.int64("begun"),
                    expires: try row.int64("expires"), ended: try row.optionalInt64("ended"),
                    chunks: try row.int("chunks"), storedChunks: try row.int("stored"),
                    goneChunks: try row.int("gone"), deletedChunks: try row.int("deleted"),
                    rawBytes: try row.int("raw_bytes"), storedRawBytes: try row.int("stored_raw_bytes"))
            }
        }
    }

    // MARK: Deleting

    /// Returns what a deletion would remove: every chunk that `chunks` lists.
    package nonisolated func deletion(_ query: LogQuery) async throws(StoreError) -> LogDeletion {
        try await readers.read { connection throws(StoreError) in try LogDeletion(of: query, in: connection) }
    }

    /// Marks the confirmed chunks as deleted.
    /// - Returns: the deletion, and the paths of the bytes to remove; `nil` if the chunks have changed since the
    ///   confirmation. Then nothing is marked.
    func forgetChunks(
        _ query: LogQuery, confirmation: String, by actor: AuditActor
    ) throws(StoreError) -> (deletion: LogDeletion, paths: [String])? {
        do throws(StoreError) { return try forgetOnce(query, confirmation: confirmation, by: actor) } catch {
            guard DiskReserve(directory: directory).giveUp(for: error) else { throw error }
            return try forgetOnce(query, confirmation: confirmation, by: actor)
        }
    }

    private func forgetOnce(
        _ query: LogQuery, confirmation: String, by actor: AuditActor
    ) throws(StoreError) -> (deletion: LogDeletion, paths: [String])? {
        let now = clock.now()
        let condition = ChunkCondition(query)
        return try transaction { () throws(StoreError) in
            let plan = try LogDeletion(of: query, in: connection)
            guard plan.confirmation == confirmation else { return nil }
            var rows: [Int64] = []
            var paths: [String] = []
            var freed: [UsageKey: (chunks: Int, rawBytes: Int)] = [:]
            var freedByDevice: [DeviceID: (key: UsageKey, rawBytes: Int)] = [:]
            try connection.query(
                """
                SELECT c.row, c.organization, c.application, c.test, c.raw_bytes, c.path, c.device FROM chunk AS c
                WHERE \(condition.text)
                """, condition.values, isKept: false
            ) { chunk throws(StoreError) in
                rows.append(try chunk.int64("row"))
                let key = UsageKey(
                    organization: try chunk.string("organization"), application: try chunk.string("application"),
                    test: try chunk.bool("test"))
                let rawBytes = try chunk.int("raw_bytes")
                paths.append(try chunk.string("path"))
                let former = freed[key] ?? (0, 0)
                freed[key] = (former.chunks + 1, former.rawBytes + rawBytes)
                if let device = try DeviceID(chunk.data("device")) {
                    freedByDevice[device, default: (key, 0)].rawBytes += rawBytes
                }
                return true
            }
            try LogRunRows.remember(connection)
            for row in rows {
                try connection.run(
                    "UPDATE chunk SET fate = \(ChunkFate.deleted.rawValue), deleted = ?, path = NULL WHERE row = ?",
                    now, row)
                try connection.run("DELETE FROM log_run WHERE chunk = ?", row)
            }
            for (key, freed) in freed { try count(key, chunks: -freed.chunks, rawBytes: -freed.rawBytes, at: now) }
            for (device, freed) in freedByDevice {
                try count(device, rawBytes: -freed.rawBytes)
                try notices.end(
                    .logQuotaReached, organization: freed.key.organization,
                    subject: freed.key.subject(.device, device: device), at: now)
            }
            for (organization, keys) in Dictionary(grouping: freed, by: \.key.organization) {
                var detail = [
                    "applications": Set(keys.map(\.key.application)).sorted().joined(separator: " "),
                    "chunks": "\(keys.reduce(0) { $0 + $1.value.chunks })",
                    "rawBytes": "\(keys.reduce(0) { $0 + $1.value.rawBytes })",
                ]
                if query.devices.count > 1 {
                    detail["devices"] = query.devices.map(\.description).joined(separator: " ")
                }
                let subject = query.devices.count == 1 ? query.devices[0].description : ""
                try audit.append(
                    AuditEntry(.logsDelete, by: actor, organization: organization, subject: subject, detail: detail),
                    at: now)
            }
            return (plan, paths)
        }
    }
}

extension LogDeletion {
    fileprivate init(of query: LogQuery, in connection: any RegistrySession) throws(StoreError) {
        let condition = ChunkCondition(query)
        var deletion = LogDeletion(chunks: 0, devices: 0, rawBytes: 0, lines: 0, confirmation: "")
        try connection.query(
            """
            SELECT count(*) AS chunks, count(DISTINCT c.device) AS devices,
            CAST(coalesce(sum(c.raw_bytes), 0) AS bigint) AS raw_bytes,
            CAST(coalesce(sum(c.errors + c.warnings + c.informations + c.verboses + c.others), 0) AS bigint) AS lines,
            CAST(coalesce(sum(c.row), 0) AS bigint) AS sum, coalesce(max(c.row), 0) AS greatest,
            CAST(coalesce(sum(c.row % 65521 * c.row % 2147483647), 0) AS bigint) AS mixed
            FROM chunk AS c WHERE \(condition.text)
            """, condition.values, isKept: false
        ) { row throws(StoreError) in
            let facts = try [
                row.int64("chunks"), row.int64("devices"), row.int64("raw_bytes"), row.int64("lines"),
                row.int64("sum"), row.int64("greatest"), row.int64("mixed"),
            ].map { String($0) }.joined(separator: " ")
            let digest = SHA256.hash(data: Data("\(query)\n\(facts)".utf8))
            deletion = LogDeletion(
                chunks: try row.int("chunks"), devices: try row.int("devices"), rawBytes: try row.int("raw_bytes"),
                lines: try row.uint64("lines"),
                confirmation: Data(digest.prefix(16)).hexadecimal)
            return false
        }
        self = deletion
    }
}

/// A query as SQL over `chunk AS c` and, if lines are requested, over `log_run AS r`. Values are bound, never written
/// into the text.
struct ChunkCondition {
    private var terms = ["c.fate = \(ChunkFate.stored.rawValue)"]
    /// The values of the parameters in `text`, in order.
    private(set) var values: [any RegistryBindable] = []

    init(_ query: LogQuery, runs: Bool = false) {
        if let organization = query.organization { add("c.organization = ?", organization) }
        if !query.devices.isEmpty {
            let devices = query.devices + query.predecessors
            terms.append("c.device IN (\(devices.map { _ in "?" }.joined(separator: ", ")))")
            values += devices.map(\.data) as [any RegistryBindable]
        }
        if let application = query.application { add("c.application = ?", application) }
        // A chunk with lines of several types may match.
        if let type = query.type { add("c.type IN (0, ?)", type.wire.rawValue) }
        if !query.withTest { terms.append("c.test = 0") }
        if let time = query.receivedBefore { add("c.received < ?", time) }
        if !query.chunks.isEmpty {
            terms.append("c.row IN (\(query.chunks.map { _ in "?" }.joined(separator: ", ")))")
            values += query.chunks as [any RegistryBindable]
        }
        add(query.lines, of: "c")
        if runs { add(query.lines, of: "r") }
    }

    /// The part of a filter that an index over times and levels can evaluate.
    private mutating func add(_ filter: LogFilter, of table: String) {
        if let since = filter.since { add("\(table).last_time >= ?", since) }
        if let until = filter.until { add("\(table).first_time < ?", until) }
        guard filter.level != .verbose else { return }
        let columns = ["errors", "warnings", "informations"].prefix(filter.level.rawValue)
        terms.append("(" + columns.map { "\(table).\($0) > 0" }.joined(separator: " OR ") + ")")
    }

    mutating func add(_ term: String, _ value: any RegistryBindable) {
        terms.append(term)
        values.append(value)
    }

    var text: String { terms.joined(separator: " AND ") }
}
