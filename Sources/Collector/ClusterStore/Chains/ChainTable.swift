import FoundationEssentials
import PostgreSQL
import RecordStore
import WireModel

/// Claims chains and moves their marks: the two transactions around a write to ClickHouse.
///
/// A claim raises the chain's attempt. A mark moves only under the newest claim. So of several collectors that work on
/// one chain, one at most succeeds, and whatever the others still write to ClickHouse has a lower version.
struct ChainTable: Sendable {
    let database: PostgresDatabase
    let stream: StreamName
    /// Gives the time of a claim in tests; `nil` for PostgreSQL's clock.
    let clock: (any StoreClock)?
    /// The collector's id of the data directory that moves in; `nil` for a collector's own work.
    var movingIn: CollectorID?

    struct Claims: Sendable {
        var generation: UInt64
        var chains: [ChainKey: ClaimedChain]
        /// The keys that the store has, of those that were asked for.
        var known: [DeviceID: KnownKeys] = [:]
    }

    /// Claims chains, and creates the rows of new ones.
    /// - Parameter questions: keys of items that are about to be numbered.
    func claim(
        _ keys: some Collection<ChainKey>, lookingFor questions: [ItemKeyTable.Question] = []
    ) async throws(StoreError) -> Claims {
        let keys = Array(keys)
        let (stream, now, source) = (stream, clock?.now(), movingIn)
        return try await database.transaction(mapping: StoreError.init) { session throws(StoreError) in
            let generation = try StoreRow.open(in: session, movingIn: source).generation
            let rows = try StoreError.mapping { () throws(PostgresError) in
                try session.query(
                    Self.claimStatement, stream.rawValue, keys.map(\.device.data), keys.map(\.epoch.data), now,
                    EncodedMark.none.bytes, ChainColumns.none.totals)
            }
            let (places, attempt, day, position) = try StoreError.mapping { () throws(PostgresError) in
                (
                    try ChainRow.Places(rows), try rows.column("attempt"), try rows.column("day"),
                    try rows.column("position")
                )
            }
            var claims = Claims(generation: generation, chains: [:])
            for row in rows {
                let chain = try ChainRow(row, places)
                claims.chains[chain.key] = ClaimedChain(
                    row: chain, attempt: try row.unsigned(attempt), day: UTCDay(number: try row.number(day)),
                    position: try row.signed(position))
            }
            guard claims.chains.count == keys.count else {
                throw StoreError(.internalFault, "\(claims.chains.count) of \(keys.count) chains were claimed.")
            }
            claims.known = try ItemKeyTable.known(questions, stream, session)
            return claims
        }
    }

    /// The day is today, but neither before that of the chain's last claim nor one that is being dropped or was.
    private static let claimStatement = """
        WITH clock AS (SELECT coalesce($4, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) AS now),
            free AS (SELECT coalesce(max(day) + 1, 0) AS day FROM partition
                WHERE stream = $1 AND \(PartitionState.isLeaving))
        INSERT INTO chain AS c (stream, device, epoch, attempt, number, mark, totals, part_last, above_part,
            floor_number, floor, day, position)
        SELECT $1, k.device, k.epoch, 1, 0, $5, $6, 0, $6, 0, $5, greatest(clock.now / 86400000000, free.day), clock.now
        FROM unnest($2, $3) AS k(device, epoch), clock, free ORDER BY k.device, k.epoch
        ON CONFLICT (stream, device, epoch) DO UPDATE SET attempt = c.attempt + 1,
            day = greatest(c.day, excluded.day), position = greatest(c.position + 1, excluded.position)
        RETURNING \(ChainRow.columns), attempt, day, position
        """

    // MARK: Moving

    /// The new state of a claimed chain.
    struct Move: Sendable {
        var chain: ClaimedChain
        var state: ChainState
        /// The slices that were written for it, in the order of the keys; all of the claim's day. Empty if only totals
        /// or closure changed.
        var slices: [NewSlice] = []

        /// The day of the slices.
        var day: UTCDay? { slices.first?.day }
    }

    /// Moves the marks of those chains that nobody has claimed since.
    /// - Parameter also: gets the chains that move, and changes what is committed with them. If it throws, none moves.
    /// - Returns: the chains that moved. The others stay as they are.
    /// - Throws: `.unavailable` also if the outcome is not known.
    func move(
        _ moves: [Move], generation: UInt64,
        also: @escaping @Sendable (PostgresSession, Set<ChainKey>) throws(StoreError) -> Void = { _, _ in }
    ) async throws(StoreError) -> Set<ChainKey> {
        let (stream, source) = (stream, movingIn)
        return try await database.transaction(mapping: StoreError.init) { session throws(StoreError) in
            try StoreError.mapping { () throws(PostgresError) in
                _ = try session.query("SELECT pg_advisory_xact_lock_shared($1)", StoreLock.gate)
            }
            guard try StoreRow.open(in: session, movingIn: source).generation == generation else {
                throw StoreError(.unavailable, "the cluster's store was recovered after this write began. Try again.")
            }
            let free = try Self.withoutDroppedDays(moves, stream, session)
            let locked = try Self.lock(free, stream, session)
            try also(session, locked)
            let moving = free.filter { locked.contains($0.chain.row.key) }
            if moving.isEmpty { return [] }
            try StoreError.mapping { () throws(PostgresError) in
                try Self.update(moving, stream, session)
                try Self.updateDays(moving, stream, session)
                try ReceiptTable.add(moving.flatMap(\.slices).compactMap { ReceivedSlice($0) }, stream, session)
                try OutboxTable.add(moving.flatMap(\.slices).compactMap { OutboxEntry($0, stream) }, session)
                try ItemKeyTable.add(moving.flatMap(\.slices).map { ItemKeyTable.Entry($0) }, stream, session)
            }
            return locked
        }
    }

    /// Leaves out slices of days that are being dropped or were, and of days before these, because a recovery drops
    /// them too. The gate keeps such a drop from beginning in between.
    private static func withoutDroppedDays(
        _ moves: [Move], _ stream: StreamName, _ session: PostgresSession
    ) throws(StoreError) -> [Move] {
        let days = Set(moves.compactMap(\.day?.number)).sorted()
        if days.isEmpty { return moves }
        let rows = try StoreError.mapping { () throws(PostgresError) in
            try session.execute(
                """
                INSERT INTO partition (stream, day, state) SELECT $1, d, \(PartitionState.kept.rawValue)
                FROM unnest($2) AS d
                WHERE d > coalesce(
                    (SELECT max(day) FROM partition WHERE stream = $1 AND \(PartitionState.isLeaving)), d - 1)
                ON CONFLICT DO NOTHING
                """,
                stream.rawValue, days.map(Int64.init))
            return try session.query(
                """
                SELECT d FROM unnest($2) AS d
                WHERE d <= (SELECT max(day) FROM partition WHERE stream = $1 AND \(PartitionState.isLeaving))
                """, stream.rawValue, days.map(Int64.init))
        }
        var dropped: Set<Int> = []
        for row in rows { dropped.insert(try row.number(0)) }
        return moves.filter { move in (move.day?.number).map { !dropped.contains($0) } ?? true }
    }

    /// Locks the rows of the chains that are still ours, in their order, so that claims and moves never wait for each
    /// other in a circle.
    private static func lock(
        _ moves: [Move], _ stream: StreamName, _ session: PostgresSession
    ) throws(StoreError) -> Set<ChainKey> {
        let rows = try StoreError.mapping { () throws(PostgresError) in
            try session.query(
                """
                SELECT c.device, c.epoch FROM chain c JOIN unnest($2, $3, $4) AS m(device, epoch, attempt)
                    ON c.device = m.device AND c.epoch = m.epoch AND c.attempt = m.attempt
                WHERE c.stream = $1 ORDER BY c.device, c.epoch FOR UPDATE OF c
                """, stream.rawValue, moves.map(\.chain.row.key.device.data), moves.map(\.chain.row.key.epoch.data),
                moves.map { Int64($0.chain.attempt) })
        }
        var locked: Set<ChainKey> = []
        for row in rows { locked.insert(try ChainKey(row, device: 0, epoch: 1)) }
        return locked
    }

    private static func update(
        _ moves: [Move], _ stream: StreamName, _ session: PostgresSession
    ) throws(PostgresError) {
        let columns = moves.map { ChainColumns($0.state) }
        try session.execute(
            """
            UPDATE chain c SET number = m.number, mark = m.mark, totals = m.totals, part_last = m.part_last,
                above_part = m.above_part, closed_last = m.closed_last, closed_reason = m.closed_reason,
                closed_at = m.closed_at
            FROM unnest($2, $3, $4, $5, $6, $7, $8, $9, $10, $11) AS m(device, epoch, number, mark, totals, part_last,
                above_part, closed_last, closed_reason, closed_at)
            WHERE c.stream = $1 AND c.device = m.device AND c.epoch = m.epoch
            """, stream.rawValue, moves.map(\.chain.row.key.device.data), moves.map(\.chain.row.key.epoch.data),
            moves.map { Int64($0.state.mark.number) }, columns.map(\.mark), columns.map(\.totals),
            columns.map { Int64(bitPattern: $0.partLast) }, columns.map(\.abovePart),
            columns.map { $0.closedLast.map { Int64(bitPattern: $0) } }, columns.map(\.closedReason),
            columns.map(\.closedAt))
    }

    private static func updateDays(
        _ moves: [Move], _ stream: StreamName, _ session: PostgresSession
    ) throws(PostgresError) {
        let days = moves.compactMap { ChainDay($0.slices) }
        if days.isEmpty { return }
        try session.execute(
            """
            INSERT INTO chain_day AS d (stream, device, epoch, day, begin_number, begin_mark, end_number, end_mark,
                earliest, latest, kinds, newest_receipt)
            SELECT $1, * FROM unnest($2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
            ON CONFLICT (stream, day, device, epoch) DO UPDATE SET end_number = excluded.end_number,
                end_mark = excluded.end_mark, earliest = least(d.earliest, excluded.earliest),
                latest = greatest(d.latest, excluded.latest), kinds = d.kinds | excluded.kinds,
                newest_receipt = greatest(d.newest_receipt, excluded.newest_receipt)
            """, parameters: [stream.rawValue] + columns(of: days))
    }

    /// The columns of `ChainDay.columns`, in their order.
    private static func columns(of days: [ChainDay]) -> [any PostgresEncodable] {
        [
            days.map(\.key.device.data), days.map(\.key.epoch.data), days.map { Int64($0.day.number) },
            days.map(\.stretch.beginNumber), days.map(\.stretch.begin.bytes),
            days.map(\.stretch.endNumber), days.map(\.stretch.end.bytes), days.map(\.bounds.earliest),
            days.map(\.bounds.latest), days.map { Int64(bitPattern: $0.bounds.kinds) }, days.map(\.newestReceipt),
        ]
    }

    // MARK: Recovery

    /// Puts recovered chains and their days in place of what is there. Attempts stay.
    /// - Parameters:
    ///   - keys: of the slices that become part of their chains.
    ///   - generation: of the slices that were written again.
    static func replace(
        _ chains: [ChainRecovery], keys: [ItemKeyTable.Entry], _ stream: StreamName, generation: UInt64,
        _ session: PostgresSession
    ) throws(PostgresError) {
        let (devices, epochs) = (chains.map(\.key.device.data), chains.map(\.key.epoch.data))
        try session.execute(
            """
            INSERT INTO chain AS c (stream, device, epoch, number, mark, totals, part_last, above_part, closed_last,
                closed_reason, closed_at, floor_number, floor, day, position, attempt)
            SELECT $1, m.*, 0 FROM unnest($2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) AS m
            ON CONFLICT (stream, device, epoch) DO UPDATE SET number = excluded.number, mark = excluded.mark,
                totals = excluded.totals, part_last = excluded.part_last, above_part = excluded.above_part,
                closed_last = excluded.closed_last, closed_reason = excluded.closed_reason,
                closed_at = excluded.closed_at, floor_number = excluded.floor_number, floor = excluded.floor,
                day = greatest(c.day, excluded.day), position = greatest(c.position, excluded.position)
            """, stream.rawValue, devices, epochs, chains.map(\.number), chains.map(\.state.mark),
            chains.map(\.state.totals), chains.map { Int64(bitPattern: $0.state.partLast) },
            chains.map(\.state.abovePart), chains.map { $0.state.closedLast.map { Int64(bitPattern: $0) } },
            chains.map(\.state.closedReason), chains.map(\.state.closedAt), chains.map(\.floorNumber),
            chains.map(\.floor.bytes), chains.map { Int64($0.days.last?.day.number ?? 0) }, chains.map(\.position))
        try session.execute(
            """
            DELETE FROM chain_day d USING unnest($2, $3) AS m(device, epoch)
            WHERE d.stream = $1 AND d.device = m.device AND d.epoch = m.epoch
            """, stream.rawValue, devices, epochs)
        let days = chains.flatMap(\.days)
        try session.execute(
            """
            INSERT INTO partition (stream, day, state) SELECT $1, d, \(PartitionState.kept.rawValue)
            FROM unnest($2) AS d ON CONFLICT DO NOTHING
            """, stream.rawValue, Set(days.map { Int64($0.day.number) }).sorted())
        try session.execute(
            """
            INSERT INTO chain_day (stream, device, epoch, day, begin_number, begin_mark, end_number, end_mark,
                earliest, latest, kinds, newest_receipt)
            SELECT $1, m.* FROM unnest($2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) AS m
            """, parameters: [stream.rawValue] + columns(of: days))
        let version = SliceVersion(generation: generation, attempt: SliceVersion.attemptOfRecovery)
        try ReceiptTable.add(
            chains.flatMap(\.new).compactMap { ReceivedSlice($0, writtenAgainAs: version) }, stream, session)
        try OutboxTable.add(
            chains.flatMap(\.new).compactMap { OutboxEntry($0, writtenAgainAs: version, stream) }, session)
        try ItemKeyTable.add(keys, stream, session)
    }
}
