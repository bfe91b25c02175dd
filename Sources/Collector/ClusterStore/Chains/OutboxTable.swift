import FoundationEssentials
import PostgreSQL
import RecordStore
import WireModel

/// A slice whose records are not in the tables for people yet, as far as PostgreSQL knows.
struct OutboxEntry: Sendable {
    var stream: StreamName
    var slice: SliceID
    var day: UTCDay
    /// The mark after the slice.
    var after: EncodedMark
    /// Bytes of its records.
    var size: Int64
    /// Whether its day has been dropped since.
    var isDropped = false
}

extension OutboxEntry {
    /// - Returns: `nil` for a slice without records.
    init?(_ slice: NewSlice, _ stream: StreamName) {
        guard let content = slice.content, content.recordCount > 0 else { return nil }
        self.init(
            stream: stream, slice: SliceID(chain: slice.chain, key: slice.before.number, version: slice.version),
            day: slice.day, after: EncodedMark(slice.after.mark), size: Int64(content.records.count))
    }

    /// - Returns: `nil` for a slice without records.
    init?(_ head: SliceHead, writtenAgainAs version: SliceVersion, _ stream: StreamName) {
        guard head.recordCount > 0 else { return nil }
        self.init(
            stream: stream, slice: SliceID(chain: head.chain, key: head.key, version: version), day: head.day,
            after: head.after, size: Int64(clamping: head.byteCount))
    }

    fileprivate static let columns =
        "o.stream, o.device, o.epoch, o.key, o.generation, o.attempt, o.day, o.mark, o.size"

    /// The numbers of `columns` and of the state of the day's partition in a result.
    fileprivate struct Places {
        let stream, device, epoch, key, generation, attempt, day, mark, size, partitionState: Int

        init(_ rows: PostgresRows) throws(PostgresError) {
            stream = try rows.column("stream")
            device = try rows.column("device")
            epoch = try rows.column("epoch")
            key = try rows.column("key")
            generation = try rows.column("generation")
            attempt = try rows.column("attempt")
            day = try rows.column("day")
            mark = try rows.column("mark")
            size = try rows.column("size")
            partitionState = try rows.column("partition_state")
        }
    }

    fileprivate init(_ row: PostgresRow, _ places: Places) throws(StoreError) {
        guard let stream = StreamName(rawValue: try row.number(places.stream)) else {
            throw StoreError(.corrupt, "the table outbox names a stream that there is not.")
        }
        self.init(
            stream: stream,
            slice: SliceID(
                chain: try ChainKey(row, device: places.device, epoch: places.epoch),
                key: try row.unsigned(places.key),
                version: SliceVersion(
                    generation: try row.unsigned(places.generation), attempt: try row.unsigned(places.attempt))),
            day: UTCDay(number: try row.number(places.day)), after: EncodedMark(bytes: try row.bytes(places.mark)),
            size: try row.signed(places.size),
            isDropped: try row.number(places.partitionState) == PartitionState.dropped.rawValue)
    }
}

/// The table `outbox`. An entry is written in the transaction that moves the mark over its slice, and removed once the
/// slice's rows are stored in the tables for people.
struct OutboxTable: Sendable {
    let database: PostgresDatabase

    private static let now = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"

    /// An entry that replaces an older one of the same key describes the slice that counts: a recovery has written it
    /// again.
    static func add(_ entries: [OutboxEntry], _ session: PostgresSession) throws(PostgresError) {
        if entries.isEmpty { return }
        try session.execute(
            """
            INSERT INTO outbox (stream, device, epoch, key, generation, attempt, day, mark, size, at, due, tries)
            SELECT m.*, c.now, c.now, 0
            FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9) AS m, (SELECT \(now) AS now) AS c
            ON CONFLICT (stream, device, epoch, key) DO UPDATE SET generation = excluded.generation,
                attempt = excluded.attempt, day = excluded.day, mark = excluded.mark, size = excluded.size,
                at = excluded.at, due = excluded.due, tries = excluded.tries
            """,
            parameters: names(entries) + [
                entries.map { Int64($0.day.number) }, entries.map(\.after.bytes), entries.map(\.size),
            ])
    }

    /// A stream's entries that are due, oldest first.
    /// - Parameters:
    ///   - count: the most entries.
    ///   - bytes: the most bytes of records. The entry that exceeds them is still returned.
    func next(_ stream: StreamName, count: Int, bytes: Int64) async throws(StoreError) -> [OutboxEntry] {
        let entries = try await database.read(mapping: StoreError.init) { session throws(StoreError) in
            _ = try StoreRow.open(in: session)
            let rows = try StoreError.mapping { () throws(PostgresError) in
                try session.query(
                    """
                    SELECT \(OutboxEntry.columns),
                        coalesce(p.state, \(PartitionState.kept.rawValue))::int4 AS partition_state
                    FROM outbox o LEFT JOIN partition p ON p.stream = o.stream AND p.day = o.day
                    WHERE o.stream = $1 AND o.due <= \(Self.now) ORDER BY o.due LIMIT $2
                    """, stream.rawValue, count)
            }
            let places = try StoreError.mapping { () throws(PostgresError) in try OutboxEntry.Places(rows) }
            var entries: [OutboxEntry] = []
            for row in rows { entries.append(try OutboxEntry(row, places)) }
            return entries
        }
        var sum: Int64 = 0
        let end = entries.firstIndex { entry in
            defer { sum += entry.size }
            return sum >= bytes
        }
        return Array(entries[..<(end ?? entries.endIndex)])
    }

    /// Removes these entries, but none that has replaced one of them.
    func remove(_ entries: [OutboxEntry]) async throws(StoreError) {
        try await change(entries, "DELETE FROM outbox o USING \(Self.named)")
    }

    /// Postpones these entries: after 1 s, and after twice that each further time, up to 256 s.
    func delay(_ entries: [OutboxEntry]) async throws(StoreError) {
        try await change(
            entries,
            """
            UPDATE outbox o SET tries = o.tries + 1, due = \(Self.now) + (1000000 << least(o.tries, 8))::bigint
            FROM \(Self.named)
            """)
    }

    private func change(_ entries: [OutboxEntry], _ statement: String) async throws(StoreError) {
        if entries.isEmpty { return }
        try await database.transaction(mapping: StoreError.init) { session throws(StoreError) in
            _ = try StoreError.mapping { () throws(PostgresError) in
                try session.execute(statement, parameters: Self.names(entries))
            }
        }
    }

    private static let named = """
        unnest($1, $2, $3, $4, $5, $6) AS m(stream, device, epoch, key, generation, attempt)
        WHERE o.stream = m.stream AND o.device = m.device AND o.epoch = m.epoch AND o.key = m.key
            AND o.generation = m.generation AND o.attempt = m.attempt
        """

    private static func names(_ entries: [OutboxEntry]) -> [any PostgresEncodable] {
        [
            entries.map { Int64($0.stream.rawValue) }, entries.map(\.slice.chain.device.data),
            entries.map(\.slice.chain.epoch.data), entries.map { Int64($0.slice.key) },
            entries.map { Int64($0.slice.version.generation) }, entries.map { Int64($0.slice.version.attempt) },
        ]
    }

    /// The figures of waiting entries.
    struct Figures: Sendable {
        var entries: Int
        /// Entries that have failed and are tried again later.
        var delayed: Int
        /// The age of the oldest entry in microseconds; 0 without one.
        var age: Int64
    }

    func figures() async throws(StoreError) -> Figures {
        try await database.read(mapping: StoreError.init) { session throws(StoreError) in
            let rows = try StoreError.mapping { () throws(PostgresError) in
                try session.query(
                    """
                    SELECT count(*), count(*) FILTER (WHERE tries > 0), coalesce(greatest(\(Self.now) - min(at), 0), 0)
                    FROM outbox
                    """)
            }
            guard let row = rows.first else { return Figures(entries: 0, delayed: 0, age: 0) }
            return Figures(entries: try row.number(0), delayed: try row.number(1), age: try row.signed(2))
        }
    }
}
