import ClickHouse
import FoundationEssentials
import Logging
import PostgreSQL
import RecordStore
import WireModel

/// Opens a cluster's store again after PostgreSQL has failed over and may have lost commits.
///
/// It begins a new generation, follows each chain over the slices that ClickHouse has, moves its mark, and records the
/// new server. Each step may be repeated: a recovery that dies is followed by another one under a greater generation.
package struct ClusterRecovery: Sendable {
    package struct Report: Encodable, Equatable, Sendable {
        /// 0: there was nothing to recover.
        package var generation: UInt64 = 0
        package var chains = 0
        /// Chains whose mark was behind.
        package var movedChains = 0
        /// Slices that PostgreSQL had not heard of.
        package var slices = 0
        package var records: UInt64 = 0
        /// Chains that got a floor, because their days are dropped.
        package var floors = 0
    }

    /// The additional work in the transaction that opens the store.
    package typealias Opening = @Sendable (PostgresSession) throws(StoreError) -> Void

    private let configuration: ClusterRecordStore.Configuration
    private let isRestored: Bool
    private let opening: Opening
    private let logger: Logger

    /// - Parameters:
    ///   - isRestored: PostgreSQL was restored from a backup, which may look like the server that it was.
    ///   - opening: for others that keep something in the same database, and that may have lost commits too.
    package init(
        _ configuration: ClusterRecordStore.Configuration, isRestored: Bool = false, logger: Logger,
        opening: @escaping Opening = { _ in }
    ) {
        self.configuration = configuration
        self.isRestored = isRestored
        self.opening = opening
        self.logger = logger
    }

    /// - Throws: `.conflict` if another recovery runs; `.unavailable` if PostgreSQL, or too many replicas of
    ///   ClickHouse, do not answer; `.corrupt` if ClickHouse lacks slices that PostgreSQL's marks count. The store
    ///   stays closed then.
    package func run() async throws(StoreError) -> Report {
        let database: PostgresDatabase
        do throws(PostgresError) {
            // The check of collectors would refuse the server: that is why it is recovered.
            database = try PostgresDatabase(
                configuration.postgreSQL, logger: logger, check: StoreRow.checkSettings)
        } catch { throw StoreError(error) }
        let result: Result<Report, StoreError>
        do {
            let recovered = try await database.withAdvisoryLock(StoreLock.recovery) {
                try await RecoveryRun(configuration, database: database, opening: opening, logger: logger)
                    .run(isRestored: isRestored)
            }
            if let recovered {
                result = .success(recovered)
            } else {
                result = .failure(StoreError(.conflict, "another recovery of this store is running."))
            }
        } catch let error as StoreError {
            result = .failure(error)
        } catch let error as PostgresError {
            result = .failure(StoreError(error))
        } catch { result = .failure(StoreError(.internalFault, "\(error)")) }
        await database.shutDown()
        return try result.get()
    }
}

/// One recovery that holds the lock.
private struct RecoveryRun: Sendable {
    private let database: PostgresDatabase
    private let slices: SliceTable
    private let configuration: ClusterRecordStore.Configuration
    private let opening: ClusterRecovery.Opening
    private let logger: Logger

    /// Chains whose slices are read together.
    private static let chainsPerPage = 500
    /// So many of their slices at most, if there is more than one chain: far less than a replica's answer may have.
    private var slicesPerPage: UInt64 { UInt64(configuration.clickHouse.maximumAnswerBytes / 4096) }

    init(
        _ configuration: ClusterRecordStore.Configuration, database: PostgresDatabase,
        opening: @escaping ClusterRecovery.Opening, logger: Logger
    ) async throws(StoreError) {
        self.configuration = configuration
        self.opening = opening
        self.database = database
        self.logger = logger
        do throws(ClickHouseError) {
            let client = try ClickHouseClient(configuration.clickHouse, logger: logger)
            do throws(ClickHouseError) {
                slices = SliceTable(
                    client: client, quorum: configuration.quorum, engine: try await client.engineVersion())
            } catch {
                await client.shutDown()
                throw error
            }
        } catch { throw StoreError(error) }
    }

    func run(isRestored: Bool) async throws(StoreError) -> ClusterRecovery.Report {
        do throws(StoreError) {
            let report = try await recover(isRestored: isRestored)
            await slices.client.shutDown()
            return report
        } catch {
            await slices.client.shutDown()
            throw error
        }
    }

    private func recover(isRestored: Bool) async throws(StoreError) -> ClusterRecovery.Report {
        let (facts, former) = try await database.read(mapping: StoreError.init) { session throws(StoreError) in
            (
                try StoreError.mapping { () throws(PostgresError) in try PostgresServerFacts.read(session) },
                try StoreRow.find(in: session)
            )
        }
        guard let former else { throw StoreError(.notFound, "the database has no collector's store to recover.") }
        if !isRestored, former.isOpen, former.isOf(facts) { return ClusterRecovery.Report() }
        let replicas = try await answeringReplicas()
        let step = try await claimGeneration(after: former, facts, replicas)
        logger.notice("recovery begins", metadata: ["store.generation": "\(step.generation)"])
        var report = ClusterRecovery.Report(generation: step.generation)
        var dropped: [StreamName: UTCDay] = [:]
        for stream in StreamName.allCases {
            dropped[stream] = try await recover(stream, step, replicas, &report)
        }
        try await open(step, dropped)
        logger.notice(
            "recovery ended",
            metadata: ["store.chains.moved": "\(report.movedChains)", "store.records": "\(report.records)"])
        return report
    }

    /// A server and a generation. Every transaction of the recovery requires both.
    private struct Step: Sendable {
        var facts: PostgresServerFacts
        var generation: UInt64
    }

    /// Replicas that together have every row which a quorum has acknowledged.
    private func answeringReplicas() async throws(StoreError) -> [ClickHouseReplica] {
        // The configuration may name some of the replicas, or one twice. Only they know how many there are.
        var found: [String: ClickHouseReplica] = [:]
        var total = 0
        var failure = ""
        for replica in slices.client.replicas {
            do throws(StoreError) {
                let rows = try await slices.rows(
                    """
                    SELECT replica_name, toUInt64(total_replicas) FROM system.replicas
                    WHERE database = currentDatabase() AND table = '\(SliceSchema.generation)'
                    """, on: replica
                ) { row throws(ClickHouseError) in (try row.string(), try row.uint64()) }.rows
                for (name, count) in rows {
                    found[name] = replica
                    total = max(total, Int(clamping: count))
                }
            } catch { failure = error.message }
        }
        let needed = max(1, max(total, slices.client.replicas.count) - configuration.quorum + 1)
        guard found.count >= needed else {
            throw StoreError(
                .unavailable,
                "a recovery reads \(needed) replicas of ClickHouse, and \(found.count) answer. \(failure)")
        }
        return Array(found.values)
    }

    // MARK: Generation

    /// Begins a generation above all earlier ones, and closes the store. ClickHouse records it first, because a second
    /// failover could lose PostgreSQL's commit.
    private func claimGeneration(
        after former: StoreRow, _ facts: PostgresServerFacts, _ replicas: [ClickHouseReplica]
    ) async throws(StoreError) -> Step {
        var greatest = former.generation
        for replica in replicas {
            let numbers = try await slices.rows("SELECT number FROM \(SliceSchema.generation)", on: replica) {
                row throws(ClickHouseError) in try row.uint64()
            }.rows
            greatest = max(greatest, numbers.max() ?? 0)
        }
        guard greatest < Int64.max else {
            throw StoreError(
                .corrupt, "ClickHouse's table \(SliceSchema.generation) has the impossible number \(greatest).")
        }
        let step = Step(facts: facts, generation: greatest + 1)
        var rows = RowBinaryWriter()
        rows.uint64(step.generation)
        rows.int64(SystemStoreClock().now())
        rows.rowEnded()
        try await slices.insertSurely(into: SliceSchema.generation, columns: ["number", "begun_at"], rows: rows)
        try await transaction(step, expecting: former.generation) { session throws(PostgresError) in
            try session.execute("UPDATE store SET generation = $1, is_open = false", step.generation)
        }
        return step
    }

    /// - Throws: `.unavailable` if the server has changed again, or another recovery has taken over.
    private func transaction(
        _ step: Step, expecting generation: UInt64? = nil, before: @escaping ClusterRecovery.Opening = { _ in },
        _ body: @escaping @Sendable (PostgresSession) throws(PostgresError) -> Void
    ) async throws(StoreError) {
        let expected = generation ?? step.generation
        try await database.transaction(mapping: StoreError.init) { session throws(StoreError) in
            // Before the check: another recovery that holds the gate may be about to take over.
            try StoreError.mapping { () throws(PostgresError) in
                _ = try session.query("SELECT pg_advisory_xact_lock($1)", StoreLock.gate)
            }
            let facts = try StoreError.mapping { () throws(PostgresError) in try PostgresServerFacts.read(session) }
            guard facts.systemIdentifier == step.facts.systemIdentifier, facts.timeline == step.facts.timeline,
                try StoreRow.find(in: session)?.generation == expected
            else {
                throw StoreError(.unavailable, "PostgreSQL has failed over again, or another recovery runs. Try again.")
            }
            try before(session)
            try StoreError.mapping { () throws(PostgresError) in try body(session) }
        }
    }

    /// The recovered days count as dropped only now, so that nobody drops a partition whose slices are not in the
    /// floors.
    private func open(_ step: Step, _ dropped: [StreamName: UTCDay]) async throws(StoreError) {
        try await transaction(step, before: opening) { session throws(PostgresError) in
            for (stream, day) in dropped {
                try session.execute(
                    """
                    INSERT INTO partition (stream, day, state) VALUES ($1, $2, $3)
                    ON CONFLICT (stream, day) DO UPDATE SET state = excluded.state
                    """, stream.rawValue, day.number, PartitionState.dropped.rawValue)
                try session.execute(
                    "UPDATE partition SET state = $3 WHERE stream = $1 AND day <= $2", stream.rawValue, day.number,
                    PartitionState.dropped.rawValue)
                try session.execute(
                    "DELETE FROM receipt WHERE stream = $1 AND day <= $2", stream.rawValue, day.number)
                try session.execute(
                    "DELETE FROM item_key WHERE stream = $1 AND day <= $2", stream.rawValue, day.number)
            }
            try session.execute(
                "UPDATE store SET is_open = true, system_identifier = $1, timeline = $2", step.facts.systemIdentifier,
                step.facts.timeline)
        }
    }

    // MARK: Chains

    /// - Returns: the stream's last dropped day; `nil` if none was dropped.
    private func recover(
        _ stream: StreamName, _ step: Step, _ replicas: [ClickHouseReplica], _ report: inout ClusterRecovery.Report
    ) async throws(StoreError) -> UTCDay? {
        let recorded = try await database.read(mapping: StoreError.init) { session throws(StoreError) in
            try PartitionTable.lastDropped(stream, in: session)
        }
        var dropped = recorded
        var hasErasures = false
        var counts: [ChainKey: UInt64] = [:]
        for replica in replicas {
            counts.merge(try await slices.chains(of: stream, on: replica), uniquingKeysWith: max)
            let floors = try await FloorTable(slices: slices).chains(of: stream, on: replica)
            for key in floors.chains where counts[key] == nil { counts[key] = 0 }
            dropped = [dropped, floors.lastDay].compactMap { $0 }.max()
            hasErasures = hasErasures || floors.hasErasures
        }
        // PostgreSQL may have receipts again whose slices an erasure has removed. Nothing says which those are, so all
        // are written anew.
        if hasErasures {
            try await transaction(step) { session throws(PostgresError) in
                try session.execute("DELETE FROM receipt WHERE stream = $1", stream.rawValue)
            }
        }
        var keys = Set(counts.keys)
        var last: ChainKey?
        while true {
            let after = last
            let rows = try await database.read(mapping: StoreError.init) { session throws(StoreError) in
                try ChainTable.chains(after: after, limit: Self.chainsPerPage, stream, in: session)
            }
            guard let end = rows.last else { break }
            last = end.key
            keys.subtract(rows.map(\.key))
            for page in pages(of: rows.map { ($0.key, $0) }, counts) {
                try await recover(page, dropped, stream, step, replicas, withReceipts: hasErasures, &report)
            }
        }
        // Chains that PostgreSQL does not know.
        var unknown = Array(keys)[...]
        while !unknown.isEmpty {
            let page = unknown.prefix(Self.chainsPerPage)
            unknown = unknown.dropFirst(Self.chainsPerPage)
            for page in pages(of: page.map { ($0, nil) }, counts) {
                try await recover(page, dropped, stream, step, replicas, withReceipts: hasErasures, &report)
            }
        }
        return dropped
    }

    private typealias Chain = (key: ChainKey, row: ChainRow?)

    /// Divides chains so that the slices of each page fit into memory, and into one answer.
    private func pages(of chains: [Chain], _ counts: [ChainKey: UInt64]) -> [[Chain]] {
        var pages: [[Chain]] = []
        var left: UInt64 = 0
        for chain in chains {
            let count = counts[chain.key] ?? 0
            if pages.isEmpty || count > left {
                pages.append([])
                left = slicesPerPage
            }
            pages[pages.count - 1].append(chain)
            left.subtractSaturating(count)
        }
        return pages
    }

    /// - Parameter withReceipts: whether those of all slices are written, not only of new ones.
    private func recover(
        _ chains: [Chain], _ dropped: UTCDay?, _ stream: StreamName, _ step: Step, _ replicas: [ClickHouseReplica],
        withReceipts: Bool, _ report: inout ClusterRecovery.Report
    ) async throws(StoreError) {
        let floors = try await FloorTable(slices: slices).read(of: chains.map(\.key), stream, on: replicas)
        let heads = try await heads(of: chains.map(\.key), stream, replicas)
        var recovered: [ChainRecovery] = []
        var newFloors: [ChainRecovery.Floor] = []
        for (key, row) in chains {
            var chain: ChainRecovery
            do throws(SliceTiling.Hole) {
                chain = try ChainRecovery(
                    key, row, floors: floors[key] ?? [], slices: (heads[key] ?? [:]).values.map(\.head))
            } catch {
                throw StoreError(
                    .corrupt,
                    """
                    ClickHouse lacks slices of device \(key.device), epoch \(key.epoch), stream \(stream), after \
                    number \(error.number). Bring up all replicas, and run the recovery again.
                    """)
            }
            if let dropped, let floor = chain.drop(upTo: dropped, generation: step.generation) {
                newFloors.append(floor)
            }
            report.chains += 1
            report.movedChains += chain.new.isEmpty ? 0 : 1
            report.slices += chain.new.count
            for head in chain.new { report.records.addSaturating(head.recordCount) }
            recovered.append(chain)
        }
        report.floors += newFloors.count
        try await FloorTable(slices: slices).write(newFloors, stream)
        var adopted: [ClickHouseReplica: [SliceHead]] = [:]
        for head in recovered.flatMap(\.new) {
            guard let replica = heads[head.chain]?[SliceName(head)]?.replica else { continue }
            try await slices.writeAgain(head, generation: step.generation, stream, on: replica)
            adopted[replica, default: []].append(head)
        }
        var keys: [ItemKeyTable.Entry] = []
        for (replica, heads) in adopted { keys += try await slices.keys(of: heads, stream, on: replica) }
        let (written, found) = (recovered, keys)
        try await transaction(step) { session throws(PostgresError) in
            try ChainTable.replace(written, keys: found, stream, generation: step.generation, session)
            if withReceipts {
                try ReceiptTable.add(written.flatMap(\.former).compactMap { ReceivedSlice($0) }, stream, session)
            }
        }
    }

    private struct SliceName: Hashable {
        var key: UInt64
        var version: SliceVersion

        init(_ head: SliceHead) {
            key = head.key
            version = head.version
        }
    }

    /// The heads that any of the replicas has.
    private func heads(
        of chains: [ChainKey], _ stream: StreamName, _ replicas: [ClickHouseReplica]
    ) async throws(StoreError) -> [ChainKey: [SliceName: (head: SliceHead, replica: ClickHouseReplica)]] {
        var found: [ChainKey: [SliceName: (head: SliceHead, replica: ClickHouseReplica)]] = [:]
        for replica in replicas {
            for head in try await slices.heads(of: chains, days: nil, stream: stream, on: replica).heads {
                found[head.chain, default: [:]][SliceName(head)] = (head, replica)
            }
        }
        return found
    }
}
