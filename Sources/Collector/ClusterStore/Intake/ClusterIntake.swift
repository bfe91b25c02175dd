import ClickHouse
import FoundationEssentials
import Logging
import PostgreSQL
import RecordStore
import WireModel

/// Imports the records of a data directory into a cluster's store that has none.
///
/// `begin` records the directory's collector in the store's row. From then on the store is closed to collectors, and
/// open to this intake alone, until `finish`. Records then go the same way as those of devices: a group of slices is
/// claimed, written and moved. Three things differ. A slice keeps its day, and its place in the order of receipt. One
/// group may have many slices of one chain. And the transaction that moves the marks also records how far the partition
/// is imported, so an intake that was cut short goes on behind the last mark that moved.
///
/// A slice's position is the beginning of its day plus its number in the partition. So moved slices keep their order
/// among each other, and come before all that devices send later.
///
/// Every call may be repeated. A call that throws has moved no mark, or has moved all of its group.
package struct ClusterIntake: Sendable {
    let database: PostgresDatabase
    let slices: SliceTable
    private let source: CollectorID

    /// Chains that are read, or become floors, in one transaction.
    static let chainsTogether = 2000

    /// - Parameter source: the collector's id of the directory.
    /// - Throws: `.notFound` before setup; `.unavailable` if PostgreSQL or ClickHouse does not answer; `.internalFault`
    ///   if a server's settings would lose records.
    package static func open(
        _ configuration: ClusterRecordStore.Configuration, from source: CollectorID, logger: Logger
    ) async throws(StoreError) -> ClusterIntake {
        let database = try ClusterRecordStore.database(configuration.postgreSQL, logger: logger)
        let client: ClickHouseClient
        do throws(ClickHouseError) {
            client = try ClickHouseClient(configuration.clickHouse, logger: logger)
        } catch { throw StoreError(error) }
        do throws(ClickHouseError) {
            let slices = SliceTable(
                client: client, quorum: configuration.quorum, engine: try await client.engineVersion())
            return ClusterIntake(database: database, slices: slices, source: source)
        } catch {
            await database.shutDown()
            await client.shutDown()
            throw StoreError(error)
        }
    }

    private init(database: PostgresDatabase, slices: SliceTable, source: CollectorID) {
        self.database = database
        self.slices = slices
        self.source = source
    }

    package func shutDown() async {
        await database.shutDown()
        await slices.client.shutDown()
    }

    /// Throws in a transaction of the same database unless this intake is under way. Nobody can end the intake before
    /// that transaction has ended.
    package var fence: @Sendable (PostgresSession) throws(StoreError) -> Void {
        { [source] session throws(StoreError) in
            _ = try StoreError.mapping { () throws(PostgresError) in
                try session.query("SELECT pg_advisory_xact_lock_shared($1)", StoreLock.gate)
            }
            _ = try StoreRow.open(in: session, movingIn: source)
        }
    }

    // MARK: Begin and end

    package enum Standing: Equatable, Sendable {
        case new
        /// An intake of the same directory has not ended.
        case resumed
    }

    /// Returns what an intake would find. Changes nothing.
    /// - Throws: `.conflict` if the store has records, or another directory is moving in.
    package func standing() async throws(StoreError) -> Standing {
        let source = source
        let found = try await database.read(mapping: StoreError.init) { session throws(StoreError) in
            try Self.standing(of: source, in: session)
        }
        if found == .resumed { return found }
        for replica in slices.client.replicas {
            for table in StreamName.allCases.map(SliceSchema.table(of:)) + [SliceSchema.baseline] {
                let rows = try await slices.rows("SELECT count() FROM \(table)", on: replica) {
                    row throws(ClickHouseError) in try row.uint64()
                }.rows
                guard rows.allSatisfy({ $0 == 0 }) else {
                    throw .notEmpty("the table \(table) of ClickHouse \(replica) has rows")
                }
            }
        }
        return found
    }

    /// Closes the store to collectors, and records the directory. It is the first thing that a move writes.
    package func begin() async throws(StoreError) {
        let source = source
        guard try await standing() == .new else { return }
        try await transaction { session throws(StoreError) in
            guard try Self.standing(of: source, in: session) == .new else { return }
            _ = try StoreError.mapping { () throws(PostgresError) in
                try session.execute("UPDATE store SET moving_in = $1", source.data)
            }
        }
    }

    /// Opens the store to collectors.
    package func finish() async throws(StoreError) {
        let source = source
        try await transaction { session throws(StoreError) in
            _ = try StoreRow.open(in: session, movingIn: source)
            _ = try StoreError.mapping { () throws(PostgresError) in
                try session.execute("UPDATE store SET moving_in = NULL")
                try session.execute("DELETE FROM imported")
            }
        }
    }

    private static func standing(
        of source: CollectorID, in session: PostgresSession
    ) throws(StoreError) -> Standing {
        let row = try StoreRow.find(in: session)
        guard row?.movingIn == source else {
            // Refuses also a store that is closed, or that another directory is moving into.
            _ = try StoreRow.open(in: session)
            let isEmpty = try StoreError.mapping { () throws(PostgresError) in
                try session.query("SELECT NOT EXISTS (SELECT FROM chain) AND NOT EXISTS (SELECT FROM partition)")[0]
                    .bool(0)
            }
            guard isEmpty else { throw .notEmpty("PostgreSQL has chains") }
            return .new
        }
        _ = try StoreRow.open(in: session, movingIn: source)
        return .resumed
    }

    /// A transaction that no mark moves beside.
    private func transaction(
        _ body: @escaping @Sendable (PostgresSession) throws(StoreError) -> Void
    ) async throws(StoreError) {
        try await database.transaction(mapping: StoreError.init) { session throws(StoreError) in
            _ = try StoreError.mapping { () throws(PostgresError) in
                try session.query("SELECT pg_advisory_xact_lock($1)", StoreLock.gate)
            }
            try body(session)
        }
    }

    // MARK: What retention removed

    /// Imports marks and counts of removed partitions, as floors. Partitions that were moved, and then removed from the
    /// directory, are dropped here too.
    package func applyRemoved(
        _ days: [UTCDay], _ chains: [MovingChain], of stream: StreamName
    ) async throws(StoreError) {
        guard let last = days.max() else { return }
        var table = PartitionTable(database: database, slices: slices)
        table.movingIn = source
        let removed = Set(days)
        for item in try await table.list().kept where item.partition.stream == stream {
            if removed.contains(item.partition.day) { try await table.drop(item.partition) }
        }
        var rest = chains[...]
        while !rest.isEmpty {
            try await applyFloors(of: Array(rest.prefix(Self.chainsTogether)), last, stream)
            rest = rest.dropFirst(Self.chainsTogether)
        }
        try await transaction { [source] session throws(StoreError) in
            _ = try StoreRow.open(in: session, movingIn: source)
            _ = try StoreError.mapping { () throws(PostgresError) in
                try session.execute(
                    """
                    INSERT INTO partition (stream, day, state) SELECT $1, d, $3 FROM unnest($2) AS d
                    ON CONFLICT (stream, day) DO UPDATE SET state = excluded.state
                    """, stream.rawValue, days.map { Int64($0.number) }, PartitionState.dropped.rawValue)
            }
        }
    }

    /// Imports the floors. As in a drop, ClickHouse has them before PostgreSQL, for a recovery after a failover.
    private func applyFloors(
        of chains: [MovingChain], _ last: UTCDay, _ stream: StreamName
    ) async throws(StoreError) {
        let rows = try await rows(of: chains, stream)
        let generation = try await generation()
        var floors: [ChainRecovery.Floor] = []
        var recovered: [ChainRecovery] = []
        for chain in chains {
            let row = rows[chain.key]
            let known = row?.state.mark.number ?? 0
            guard known <= chain.state.mark.number, row?.state != chain.state else { continue }
            guard known == row?.floorNumber ?? 0 else { throw .differs(chain, stream, known) }
            let floor = ChainRecovery.Floor(
                key: chain.key, day: last, generation: generation, number: chain.state.mark.number,
                state: ChainColumns(chain.state))
            floors.append(floor)
            do throws(SliceTiling.Hole) {
                recovered.append(try ChainRecovery(chain.key, row, floors: [floor], slices: []))
            } catch { throw .differs(chain, stream, error.number) }
        }
        if floors.isEmpty { return }
        try await FloorTable(slices: slices).write(floors, stream)
        try await transaction { [source, recovered] session throws(StoreError) in
            guard try StoreRow.open(in: session, movingIn: source).generation == generation else {
                throw StoreError(.unavailable, "the cluster's store was recovered meanwhile. Try again.")
            }
            try StoreError.mapping { () throws(PostgresError) in
                try ChainTable.replace(recovered, keys: [], stream, generation: generation, session)
            }
        }
    }

    private func generation() async throws(StoreError) -> UInt64 {
        let source = source
        return try await database.read(mapping: StoreError.init) { session throws(StoreError) in
            try StoreRow.open(in: session, movingIn: source).generation
        }
    }

    func rows(of chains: [MovingChain], _ stream: StreamName) async throws(StoreError) -> [ChainKey: ChainRow] {
        let devices = Array(Set(chains.map(\.key.device)))
        let rows = try await database.read(mapping: StoreError.init) { session throws(StoreError) in
            try ChainTable.chains(of: devices, stream, in: session)
        }
        return Dictionary(rows.map { ($0.key, $0) }) { first, _ in first }
    }

    /// Claims and moves in a partition: its chains get its day, and positions behind the slice `id`.
    func table(of stream: StreamName, day: UTCDay, after id: Int64) -> ChainTable {
        var table = ChainTable(database: database, stream: stream, clock: IntakeClock(time: day.start + id))
        table.movingIn = source
        return table
    }
}

/// Stands at a moment of the day that is imported.
private struct IntakeClock: StoreClock {
    let time: Int64

    func now() -> Int64 { time }
}

extension StoreError {
    fileprivate static func notEmpty(_ what: String) -> StoreError {
        StoreError(
            .conflict,
            """
            the cluster is in use already: \(what). A data directory moves only into an empty cluster, as \
            `ws1collector cluster init` makes it.
            """)
    }

    /// The cluster has another history of a chain than the directory.
    static func differs(_ chain: MovingChain, _ stream: StreamName, _ number: UInt64) -> StoreError {
        StoreError(
            .corrupt,
            """
            \(stream) of device \(chain.key.device), epoch \(chain.key.epoch), stands at \(number) in the cluster and \
            at \(chain.state.mark.number) in the data directory, with other counts, links or totals. Make the cluster \
            anew, and move again.
            """)
    }
}
