import ClickHouse
import FoundationEssentials
import PostgreSQL
import RecordStore
import WireModel

/// The days of each stream: their sizes, and how a day is dropped.
///
/// A drop has five steps, each of which may be repeated, so that neither a late write nor a failover loses a record:
/// 1. PostgreSQL records the day as being dropped. From then on no mark moves over a slice of that day.
/// 2. ClickHouse gets the floors: each chain's mark at the end of the day.
/// 3. PostgreSQL stores the floors, some chains at a time. Slices below them do not count any more.
/// 4. ClickHouse drops the partition, also that of the table for people.
/// 5. `reclaim` drops it again if a late write has revived it. It also ends a drop that was cut short.
struct PartitionTable: Sendable {
    let database: PostgresDatabase
    let slices: SliceTable
    /// The collector's id of the data directory that moves in; `nil` for a collector's own work.
    var movingIn: CollectorID?

    // MARK: What is there

    func list() async throws(StoreError) -> PartitionList {
        let days = try await database.read(mapping: StoreError.init) { session throws(StoreError) in
            try Self.all(in: session)
        }
        let bytes = try await bytes(of: Self.allTables)
        var list = PartitionList(kept: [], dropped: [:])
        for (partition, state) in days {
            if state == PartitionState.dropped.rawValue {
                list.dropped[partition.stream, default: 0] += 1
            } else {
                list.kept.append(.init(partition: partition, bytes: bytes[partition] ?? 0))
            }
        }
        list.kept.sort { $0.partition < $1.partition }
        return list
    }

    /// When the newest record of a partition came, microseconds since 1970; `nil`: it has none.
    func newestReceipt(in partition: Partition) async throws(StoreError) -> Int64? {
        try await database.read(mapping: StoreError.init) { session throws(StoreError) in
            try StoreError.mapping { () throws(PostgresError) in
                try session.query(
                    "SELECT max(newest_receipt) FROM chain_day WHERE stream = $1 AND day = $2",
                    partition.stream.rawValue, partition.day.number
                ).first?.optionalInt64(0)
            }
        }
    }

    /// Partitions that should have slices and have none on any replica.
    func harmed() async throws(StoreError) -> [Partition: PartitionHarm] {
        let days = try await database.read(mapping: StoreError.init) { session throws(StoreError) in
            let rows = try StoreError.mapping { () throws(PostgresError) in
                try session.query(
                    """
                    SELECT stream, day FROM partition p
                    WHERE EXISTS (SELECT 1 FROM chain_day d WHERE d.stream = p.stream AND d.day = p.day)
                    """)
            }
            return try rows.map { row throws(StoreError) in try Partition(row) }
        }
        let (found, failure) = try await onAnsweringReplicas(Self.sliceTables)
        var harmed: [Partition: PartitionHarm] = [:]
        for partition in days where !found.contains(partition) {
            // A replica that does not answer may have it.
            if let failure { throw failure }
            harmed[partition] = PartitionHarm(
                isMissing: true,
                message: "no replica of ClickHouse has the partition \(partition.day) of \(partition.stream).")
        }
        return harmed
    }

    /// The last day of a stream that is dropped.
    static func lastDropped(_ stream: StreamName, in session: PostgresSession) throws(StoreError) -> UTCDay? {
        try all(in: session).filter { $0.0.stream == stream && $0.1 == PartitionState.dropped.rawValue }.map(\.0.day)
            .max()
    }

    private func partitions() async throws(StoreError) -> [(Partition, Int)] {
        try await database.read(mapping: StoreError.init) { session throws(StoreError) in try Self.all(in: session) }
    }

    private static func all(in session: PostgresSession) throws(StoreError) -> [(Partition, Int)] {
        let rows = try StoreError.mapping { () throws(PostgresError) in
            try session.query("SELECT stream, day, state FROM partition")
        }
        var found: [(Partition, Int)] = []
        for row in rows { found.append((try Partition(row), try row.number(2))) }
        return found
    }

    private static let sliceTables = Dictionary(
        uniqueKeysWithValues: StreamName.allCases.map { (SliceSchema.table(of: $0), $0) })
    /// Those of slices and those for people.
    private static let allTables = Dictionary(
        uniqueKeysWithValues: StreamName.allCases.flatMap { stream in tables(of: stream).map { ($0, stream) } })

    private static func tables(of stream: StreamName) -> [String] {
        [SliceSchema.table(of: stream), PeopleSchema.table(of: stream)]
    }

    /// Bytes on disk of one replica.
    private func bytes(
        of streams: [String: StreamName], on replica: ClickHouseReplica? = nil
    ) async throws(StoreError) -> [Partition: Int64] {
        let rows = try await slices.rows(
            """
            SELECT table, partition, sum(bytes_on_disk) FROM system.parts
            WHERE active AND database = currentDatabase() GROUP BY table, partition
            """, on: replica
        ) { row throws(ClickHouseError) in (try row.string(), try row.string(), try row.uint64()) }.rows
        var bytes: [Partition: Int64] = [:]
        for (table, name, size) in rows {
            guard let stream = streams[table], let day = UTCDay(name.filter { $0 != "'" }) else { continue }
            bytes[Partition(day: day, stream: stream), default: 0] += Int64(clamping: size)
        }
        return bytes
    }

    // MARK: Dropping

    /// - Throws: `.notFound`; `.conflict` unless it is the oldest of its stream. After another error some chains may
    ///   have lost the day, and the next call or `reclaim` goes on.
    func drop(_ partition: Partition) async throws(StoreError) {
        let generation = try await begin(partition)
        Failpoint.dropBegun.reach()
        try await copyFloors(of: partition, generation: generation)
        Failpoint.floorsCopied.reach()
        try await applyFloors(of: partition, generation: generation)
        Failpoint.floorsTaken.reach()
        try await remove(partition)
    }

    /// Step 1.
    /// - Returns: the generation that the other steps require.
    func begin(_ partition: Partition) async throws(StoreError) -> UInt64 {
        let (term, source) = (HousekeepingTerm.current, movingIn)
        return try await database.transaction(mapping: StoreError.init) { session throws(StoreError) in
            try StoreError.mapping { () throws(PostgresError) in
                _ = try session.query("SELECT pg_advisory_xact_lock($1)", StoreLock.gate)
            }
            try Self.require(term, in: session)
            let store = try StoreRow.open(in: session, movingIn: source)
            let days = try Self.all(in: session).filter {
                $0.0.stream == partition.stream && $0.1 < PartitionState.dropped.rawValue
            }
            guard days.contains(where: { $0.0 == partition }) else {
                throw StoreError(.notFound, "there is no partition \(partition.name).")
            }
            if let oldest = days.map(\.0).min(), oldest < partition {
                throw StoreError(.conflict, "\(partition.name) is not the oldest partition; \(oldest.name) is.")
            }
            try StoreError.mapping { () throws(PostgresError) in
                _ = try session.execute(
                    "UPDATE partition SET state = $3 WHERE stream = $1 AND day = $2 AND state < $3",
                    partition.stream.rawValue, partition.day.number, PartitionState.dropping.rawValue)
            }
            return store.generation
        }
    }

    /// Step 2, a page of chains after the other. No mark moves over a slice of the day meanwhile.
    /// - Parameter count: of floors in one insert.
    func copyFloors(
        of partition: Partition, generation: UInt64, together count: Int = 5000
    ) async throws(StoreError) {
        var last: ChainKey?
        while true {
            let after = last
            let chains = try await database.read(mapping: StoreError.init) { session throws(StoreError) in
                try ChainTable.chains(
                    on: partition.day, after: after, limit: count, partition.stream, in: session)
            }
            guard let end = chains.last else { return }
            last = end.row.key
            let floors = chains.map { chain in
                var state = ChainColumns(chain.row.state)
                state.mark = chain.end.bytes
                if !chain.endsOnDay { state = state.open }
                return ChainRecovery.Floor(
                    key: chain.row.key, day: partition.day, generation: generation, number: chain.endNumber,
                    state: state)
            }
            try await FloorTable(slices: slices).write(floors, partition.stream)
        }
    }

    /// A collector whose turn at housekeeping is over makes no further step.
    private static func require(_ term: Int64?, in session: PostgresSession) throws(StoreError) {
        guard let term else { return }
        let isMyTurn = try StoreError.mapping { () throws(PostgresError) in
            try session.query("SELECT 1 FROM housekeeping WHERE term = $1 FOR SHARE", term).first != nil
        }
        guard isMyTurn else { throw StoreError.turnIsOver }
    }

    /// Step 3, a page of chains after the other, so that no request waits for long. Lists along the receipts show the
    /// day until all chains are done.
    /// - Parameter count: of chains, of rows of `receipt`, and of keys, in one transaction.
    func applyFloors(
        of partition: Partition, generation: UInt64, together count: Int = 5000
    ) async throws(StoreError) {
        let (stream, day) = (partition.stream.rawValue, partition.day.number)
        var chain: ChainKey?
        repeat {
            chain = try await applyFloors(of: partition, after: chain, generation: generation, together: count)
        } while chain != nil
        var position: Int64? = .min
        while let last = position {
            position = try await step(under: generation) { session throws(PostgresError) in
                let end = try session.query(
                    """
                    SELECT max(position) FROM (
                        SELECT position FROM receipt WHERE stream = $1 AND day = $2 AND position > $3
                        ORDER BY position LIMIT $4) AS page
                    """, stream, day, last, count)[0].optionalInt64(0)
                guard let end else { return nil }
                try session.execute(
                    "DELETE FROM receipt WHERE stream = $1 AND day = $2 AND position > $3 AND position <= $4", stream,
                    day, last, end)
                return end
            }
        }
        var mayHaveKeys = true
        while mayHaveKeys {
            mayHaveKeys = try await step(under: generation) { session throws(PostgresError) in
                try ItemKeyTable.remove(partition, atMost: count, session)
            }
        }
        try await step(under: generation) { session throws(PostgresError) in
            _ = try session.execute(
                "UPDATE partition SET state = $3 WHERE stream = $1 AND day = $2", stream, day,
                PartitionState.dropped.rawValue)
        }
    }

    /// Stores the floors of the next chains.
    /// - Returns: the last of them; `nil` if there was none.
    func applyFloors(
        of partition: Partition, after last: ChainKey?, generation: UInt64, together count: Int
    ) async throws(StoreError) -> ChainKey? {
        let (stream, day) = (partition.stream.rawValue, partition.day.number)
        let end = try await step(under: generation) { session throws(PostgresError) -> (Data, Data)? in
            let rows = try session.query(
                """
                SELECT device, epoch FROM chain_day WHERE stream = $1 AND day = $2 AND (device, epoch) > ($3, $4)
                ORDER BY device, epoch LIMIT $5
                """, stream, day, last?.device.data ?? Data(), last?.epoch.data ?? Data(), count)
            var (devices, epochs): ([Data], [Data]) = ([], [])
            for row in rows {
                devices.append(try row.data(0))
                epochs.append(try row.data(1))
            }
            guard let device = devices.last, let epoch = epochs.last else { return nil }
            // By their keys, because PostgreSQL misjudges how many rows lie between two keys, and reads all. In the
            // order of claims, so that none waits for the other in a circle.
            try session.execute(
                """
                SELECT count(*) FROM (
                    SELECT 1 FROM chain c JOIN unnest($2, $3) AS m(device, epoch)
                        ON c.device = m.device AND c.epoch = m.epoch
                    WHERE c.stream = $1 ORDER BY c.device, c.epoch FOR UPDATE OF c) AS locked
                """, stream, devices, epochs)
            try session.execute(
                """
                UPDATE chain c SET floor_number = d.end_number, floor = d.end_mark
                FROM unnest($3, $4) AS m(device, epoch), chain_day d
                WHERE d.stream = $1 AND d.day = $2 AND d.device = m.device AND d.epoch = m.epoch
                    AND c.stream = $1 AND c.device = m.device AND c.epoch = m.epoch AND c.floor_number < d.end_number
                """, stream, day, devices, epochs)
            try session.execute(
                """
                DELETE FROM chain_day d USING unnest($3, $4) AS m(device, epoch)
                WHERE d.stream = $1 AND d.day = $2 AND d.device = m.device AND d.epoch = m.epoch
                """, stream, day, devices, epochs)
            return (device, epoch)
        }
        guard let end else { return nil }
        guard let device = DeviceID(end.0), let epoch = EpochID(end.1) else {
            throw StoreError(.corrupt, "the table chain_day names a chain that there is not.")
        }
        return ChainKey(device: device, epoch: epoch)
    }

    /// A transaction of step 3, or of an erasure. After a recovery the day may have grown, and ClickHouse has other
    /// floors. So both begin anew then.
    /// - Throws: `.unavailable` under another generation.
    func step<Value: Sendable>(
        under generation: UInt64, _ body: @escaping @Sendable (PostgresSession) throws(PostgresError) -> Value
    ) async throws(StoreError) -> Value {
        let (term, source) = (HousekeepingTerm.current, movingIn)
        return try await database.transaction(mapping: StoreError.init) { session throws(StoreError) in
            try StoreError.mapping { () throws(PostgresError) in
                _ = try session.query("SELECT pg_advisory_xact_lock_shared($1)", StoreLock.gate)
            }
            try Self.require(term, in: session)
            guard try StoreRow.open(in: session, movingIn: source).generation == generation else {
                throw StoreError(.unavailable, "the cluster's store was recovered after this drop began. Try again.")
            }
            return try StoreError.mapping { () throws(PostgresError) in try body(session) }
        }
    }

    /// Step 4.
    private func remove(_ partition: Partition) async throws(StoreError) {
        do throws(ClickHouseError) {
            for table in Self.tables(of: partition.stream) {
                try await slices.client.execute("ALTER TABLE \(table) DROP PARTITION '\(partition.day)'")
            }
        } catch { throw StoreError(error) }
    }

    /// Ends the drops that were cut short, then step 5 for all partitions that were ever dropped.
    /// - Throws: the first error, after everything was tried.
    func reclaim() async throws(StoreError) {
        var failure: StoreError?
        for partition in try await cutShort() {
            do throws(StoreError) { try await drop(partition) } catch {
                // Another collector has ended it.
                if error.code != .notFound { failure = failure ?? error }
            }
        }
        let dropped = try await partitions().filter { $0.1 == PartitionState.dropped.rawValue }.map(\.0)
        // What only a replica has that does not answer now is found at the next call.
        let there = try await onAnsweringReplicas(Self.allTables).partitions
        for partition in dropped.filter(there.contains).sorted() {
            do throws(StoreError) { try await remove(partition) } catch { failure = failure ?? error }
        }
        if let failure { throw failure }
    }

    /// Partitions whose drop has begun and has not ended, oldest first. Also older ones of the same stream: a recovery
    /// drops them, too.
    private func cutShort() async throws(StoreError) -> [Partition] {
        let partitions = try await partitions()
        return StreamName.allCases.flatMap { stream in
            let days = partitions.filter { $0.0.stream == stream }
            let begun = days.filter { $0.1 == PartitionState.dropping.rawValue }.map(\.0).max()
            return days.filter { day, state in
                begun.map { day <= $0 } == true && state < PartitionState.dropped.rawValue
            }.map(\.0).sorted()
        }
    }

    /// The partitions of all replicas that answer.
    /// - Returns: also the error of one that does not.
    /// - Throws: if none answers.
    private func onAnsweringReplicas(
        _ tables: [String: StreamName]
    ) async throws(StoreError) -> (partitions: Set<Partition>, failure: StoreError?) {
        var found: Set<Partition> = []
        var failures: [StoreError] = []
        for replica in slices.client.replicas {
            do throws(StoreError) { found.formUnion(try await bytes(of: tables, on: replica).keys) } catch {
                failures.append(error)
            }
        }
        if failures.count == slices.client.replicas.count, let first = failures.first { throw first }
        return (found, failures.first)
    }
}

extension Partition {
    /// Reads the columns `stream, day`.
    fileprivate init(_ row: PostgresRow) throws(StoreError) {
        guard let stream = StreamName(rawValue: try row.number(0)) else {
            throw StoreError(.corrupt, "the table partition names a stream that there is not.")
        }
        self.init(day: UTCDay(number: try row.number(1)), stream: stream)
    }
}

/// States in the table `partition`.
enum PartitionState: Int {
    case kept = 0
    case dropping = 1
    case dropped = 2

    /// Conditions on the column `state`, as SQL.
    static let isLeaving = "state > \(kept.rawValue)"
    static let isNotDropped = "state < \(dropped.rawValue)"
}
