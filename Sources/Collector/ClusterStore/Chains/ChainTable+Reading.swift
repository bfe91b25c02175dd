import FoundationEssentials
import PostgreSQL
import RecordStore
import WireModel

/// The questions that readers ask PostgreSQL first: about the marks, which say what ClickHouse must have.
extension ChainTable {
    /// The chains of some devices.
    /// - Parameter epochs: only those of these epochs; `nil` for all.
    static func chains(
        of devices: [DeviceID], epochs: [EpochID]? = nil, _ stream: StreamName, in session: PostgresSession
    ) throws(StoreError) -> [ChainRow] {
        let rows = try StoreError.mapping { () throws(PostgresError) in
            try session.query(
                "SELECT \(ChainRow.columns) FROM chain WHERE stream = $1 AND device = ANY($2)\(Self.among(epochs))",
                parameters: [stream.rawValue, devices.map(\.data)] + Self.parameters(epochs))
        }
        return try ChainRow.all(rows)
    }

    /// The next chains of one device, in the order of their epochs.
    /// - Parameter epoch: from the first chain if `nil`.
    static func chains(
        of device: DeviceID, after epoch: EpochID?, limit: Int, _ stream: StreamName, in session: PostgresSession
    ) throws(StoreError) -> [ChainRow] {
        let rows = try StoreError.mapping { () throws(PostgresError) in
            try session.query(
                """
                SELECT \(ChainRow.columns) FROM chain WHERE stream = $1 AND device = $2 AND epoch > $3
                ORDER BY epoch LIMIT $4
                """, stream.rawValue, device.data, epoch?.data ?? Data(), limit)
        }
        return try ChainRow.all(rows)
    }

    /// The next chains in the order of their keys, for a walk over all.
    /// - Parameter last: from the first chain if `nil`.
    static func chains(
        after last: ChainKey?, limit: Int, _ stream: StreamName, in session: PostgresSession
    ) throws(StoreError) -> [ChainRow] {
        let rows = try StoreError.mapping { () throws(PostgresError) in
            try session.query(
                """
                SELECT \(ChainRow.columns) FROM chain WHERE stream = $1 AND (device, epoch) > ($2, $3)
                ORDER BY device, epoch LIMIT $4
                """, stream.rawValue, last?.device.data ?? Data(), last?.epoch.data ?? Data(), limit)
        }
        return try ChainRow.all(rows)
    }

    private static func among(_ epochs: [EpochID]?) -> String { epochs == nil ? "" : " AND epoch = ANY($3)" }

    private static func parameters(_ epochs: [EpochID]?) -> [any PostgresEncodable] {
        epochs.map { [$0.map(\.data)] } ?? []
    }

    /// Reads what each day has of the chains of some devices.
    /// - Parameter epochs: only of chains of these epochs; `nil` for all.
    static func days(
        of devices: [DeviceID], epochs: [EpochID]? = nil, _ stream: StreamName, in session: PostgresSession
    ) throws(StoreError) -> [ChainDay] {
        let rows = try StoreError.mapping { () throws(PostgresError) in
            try session.query(
                "SELECT \(ChainDay.columns) FROM chain_day WHERE stream = $1 AND device = ANY($2)\(Self.among(epochs))",
                parameters: [stream.rawValue, devices.map(\.data)] + Self.parameters(epochs))
        }
        return try ChainDay.all(rows)
    }

    /// Reads what a day has of the chains that may have a matching record on it.
    ///
    /// The devices of more than `SliceReader.chainsPerQuery` are not looked at: the result has chains of any.
    /// - Parameter limit: of chains.
    static func matches(
        _ query: RecordQuery, on day: UTCDay, limit: Int, in session: PostgresSession
    ) throws(StoreError) -> [ChainDay] {
        let named = query.devices.named
        let rows = try StoreError.mapping { () throws(PostgresError) in
            try session.query(
                """
                SELECT \(ChainDay.columns) FROM chain_day
                WHERE stream = $1 AND day = $2\(named == nil ? "" : " AND device = ANY($7)") AND \(matching) LIMIT $6
                """,
                parameters: [query.stream.rawValue, day.number] + matching(query) + [limit]
                    + (named.map { [$0.map(\.data)] } ?? []))
        }
        return try ChainDay.all(rows)
    }

    /// The days on which some devices may have a matching record.
    static func daysWithMatches(
        _ query: RecordQuery, of devices: [DeviceID], in session: PostgresSession
    ) throws(StoreError) -> Set<UTCDay> {
        let rows = try StoreError.mapping { () throws(PostgresError) in
            try session.query(
                "SELECT DISTINCT day FROM chain_day WHERE stream = $1 AND device = ANY($2) AND \(matching)",
                parameters: [query.stream.rawValue, devices.map(\.data)] + matching(query))
        }
        var days: Set<UTCDay> = []
        for row in rows { days.insert(UTCDay(number: try row.number(0))) }
        return days
    }

    /// `RecordBounds.meet`, with the parameters 3 to 5.
    private static let matching =
        "earliest <= latest AND latest >= $3 AND ($4 IS NULL OR earliest < $4) AND kinds & $5 <> 0"

    private static func matching(_ query: RecordQuery) -> [any PostgresEncodable] {
        let kinds = query.kindBits.map { Int64(bitPattern: $0) } ?? -1
        return [query.times.from ?? .min, query.times.to, kinds]
    }

    /// A chain with slices on a day, and the day's part of it.
    struct OnDay: Sendable {
        var row: ChainRow
        /// The mark at the day's end.
        var end: EncodedMark
        var endNumber: UInt64
        /// Whether the chain has no slices on later days.
        var endsOnDay: Bool
    }

    /// The next chains that have slices on a day, in the order of their keys.
    /// - Parameter last: from the first chain if `nil`.
    static func chains(
        on day: UTCDay, after last: ChainKey?, limit: Int, _ stream: StreamName, in session: PostgresSession
    ) throws(StoreError) -> [OnDay] {
        let rows = try StoreError.mapping { () throws(PostgresError) in
            try session.query(
                """
                SELECT \(ChainRow.columns), end_mark, end_number, NOT EXISTS (
                    SELECT 1 FROM chain_day e WHERE e.stream = $1 AND e.device = c.device AND e.epoch = c.epoch
                        AND e.day > $2) AS ends_on_day
                FROM chain c JOIN (
                    SELECT device AS d_device, epoch AS d_epoch, end_mark, end_number FROM chain_day
                    WHERE stream = $1 AND day = $2 AND (device, epoch) > ($3, $4)
                    ORDER BY device, epoch LIMIT $5) d ON device = d_device AND epoch = d_epoch
                WHERE stream = $1 ORDER BY device, epoch
                """, stream.rawValue, day.number, last?.device.data ?? Data(), last?.epoch.data ?? Data(), limit)
        }
        let (places, end, endNumber, endsOnDay) = try StoreError.mapping { () throws(PostgresError) in
            (
                try ChainRow.Places(rows), try rows.column("end_mark"), try rows.column("end_number"),
                try rows.column("ends_on_day")
            )
        }
        var chains: [OnDay] = []
        for row in rows {
            chains.append(
                OnDay(
                    row: try ChainRow(row, places), end: EncodedMark(bytes: try row.bytes(end)),
                    endNumber: try row.unsigned(endNumber),
                    endsOnDay: try StoreError.mapping { () throws(PostgresError) in try row.bool(endsOnDay) }))
        }
        return chains
    }

    /// The days of a stream that are not dropped, ascending.
    static func keptDays(_ stream: StreamName, in session: PostgresSession) throws(StoreError) -> [UTCDay] {
        let rows = try StoreError.mapping { () throws(PostgresError) in
            try session.query(
                "SELECT day FROM partition WHERE stream = $1 AND \(PartitionState.isNotDropped) ORDER BY day",
                stream.rawValue)
        }
        var days: [UTCDay] = []
        for row in rows { days.append(UTCDay(number: try row.number(0))) }
        return days
    }
}
