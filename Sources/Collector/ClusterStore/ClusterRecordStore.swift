import ClickHouse
import FoundationEssentials
import Logging
import PostgreSQL
import RecordStore
import Synchronization
import WireModel

/// The record store over PostgreSQL and ClickHouse, for any number of collectors side by side.
///
/// PostgreSQL keeps marks, ClickHouse keeps slices, and nothing is kept on the collector's disk.
/// `Documentation/decisions/cluster-store.md` has the rules, and `Tools/models/cluster-model.py` tries them out.
package final class ClusterRecordStore: RecordStore {
    package struct Configuration: Sendable {
        package var postgreSQL: PostgresConfiguration
        package var clickHouse: ClickHouseConfiguration
        /// How many replicas must have a slice before it counts. Default 2.
        package var quorum = 2
        /// Bytes of parts that may wait for one stream, or be on their way; more is answered unavailable at once.
        package var pipelineBytes = 64 << 20
        /// Parts, likewise.
        package var pipelineParts = 4096
        /// Bytes that share one insert at most.
        package var groupBytes = 8 << 20
        /// Parts, likewise.
        package var groupParts = 2048

        package init(postgreSQL: PostgresConfiguration, clickHouse: ClickHouseConfiguration) {
            self.postgreSQL = postgreSQL
            self.clickHouse = clickHouse
        }
    }

    /// Opens connections to the database of the store's marks, for others that keep something beside them. They refuse
    /// the same servers as the store: those that would lose what they commit, and another one after a failover.
    package static func database(
        _ configuration: PostgresConfiguration, logger: Logger
    ) throws(StoreError) -> PostgresDatabase {
        do throws(PostgresError) {
            return try PostgresDatabase(configuration, logger: logger, check: StoreRow.check)
        } catch { throw StoreError(error) }
    }

    private let database: PostgresDatabase
    private let client: ClickHouseClient
    private let slices: SliceTable
    private let writers: [StreamName: SliceWriter]
    private let listing: RecordListing
    private let balanceReader: BalanceReader
    private let proof: ChainProof
    private let table: PartitionTable
    private let logger: Logger
    private let round = Mutex<(position: ChainProof.Position?, findings: ChainFindings)>((nil, ChainFindings()))

    /// Opens the store that `ClusterSetup` has made.
    /// - Parameters:
    ///   - clock: gives the day and the order of receipt in tests; `nil` for PostgreSQL's clock.
    ///   - incidents: gets incidents for administrators, with the number of records concerned. It must return at once.
    /// - Throws: `.notFound` before setup; `.unavailable` if PostgreSQL or ClickHouse does not answer, or the store is
    ///   closed; `.internalFault` if a server's settings would lose records.
    package static func open(
        _ configuration: Configuration, clock: (any StoreClock)? = nil,
        incidents: @escaping @Sendable (DeviceIncident, UInt64) -> Void = { _, _ in }, logger: Logger,
        observer: (any StoreObserver)? = nil
    ) async throws(StoreError) -> ClusterRecordStore {
        let database = try Self.database(configuration.postgreSQL, logger: logger)
        let client: ClickHouseClient
        do throws(ClickHouseError) {
            client = try ClickHouseClient(configuration.clickHouse, logger: logger)
        } catch { throw StoreError(error) }
        do throws(StoreError) {
            _ = try await database.read(mapping: StoreError.init) { session throws(StoreError) in
                try StoreRow.open(in: session)
            }
            let engine: ClickHouseEngineVersion
            do throws(ClickHouseError) { engine = try await client.engineVersion() } catch { throw StoreError(error) }
            return ClusterRecordStore(
                configuration, database: database, client: client, engine: engine, clock: clock, incidents: incidents,
                logger: logger, observer: observer)
        } catch {
            await database.shutDown()
            await client.shutDown()
            throw error
        }
    }

    private init(
        _ configuration: Configuration, database: PostgresDatabase, client: ClickHouseClient,
        engine: ClickHouseEngineVersion, clock: (any StoreClock)?,
        incidents: @escaping @Sendable (DeviceIncident, UInt64) -> Void, logger: Logger,
        observer: (any StoreObserver)?
    ) {
        self.database = database
        self.client = client
        self.logger = logger
        let slices = SliceTable(client: client, quorum: configuration.quorum, engine: engine)
        self.slices = slices
        let reader = SliceReader(database: database, slices: slices)
        var limits = WriterPipeline.Limits()
        limits.bytes = configuration.pipelineBytes
        limits.parts = configuration.pipelineParts
        limits.transactionBytes = configuration.groupBytes
        limits.transactionParts = configuration.groupParts
        writers = Dictionary(
            uniqueKeysWithValues: StreamName.allCases.map { [slices] stream in
                let chains = ChainTable(database: database, stream: stream, clock: clock)
                return (
                    stream,
                    SliceWriter(
                        chains: chains, slices: slices, points: PointSearch(reader: reader), limits: limits,
                        incidents: incidents, observer: observer, logger: logger)
                )
            })
        self.clock = clock
        listing = RecordListing(reader: reader)
        balanceReader = BalanceReader(reader: reader)
        proof = ChainProof(reader: reader)
        table = PartitionTable(database: database, slices: slices)
    }

    /// Gives the time when a close is received.
    private let clock: (any StoreClock)?

    // MARK: What devices send

    package var durability: String { "replicated" }

    package func append(_ parts: [BatchPart], from device: DeviceID, receivedAt: Int64) async -> [PartAnswer] {
        await WriterJob.append(parts, from: device, receivedAt: receivedAt) { [self] in await writers[$1]?.perform($0) }
    }

    /// Each entry is a job of its own, because a chain can be unavailable while others are stored.
    package func append(
        _ items: [UnnumberedItems], to stream: StreamName, receivedAt: Int64
    ) async -> [UnnumberedAnswer] {
        let (taken, refusals) = items.admitted(to: stream)
        var answers = refusals
        guard let writer = writers[stream] else { return [] }
        await withTaskGroup(of: (Int, WriterJob.Outcome).self) { group in
            for place in taken {
                let job = WriterJob(numbering: [items[place]], receivedAt: receivedAt)
                group.addTask { (place, await writer.perform(job)) }
            }
            for await (place, outcome) in group {
                if case .numbered(let found) = outcome { answers[place] = found.first }
            }
        }
        return items.indices.map { answers[$0] ?? UnnumberedAnswer(unavailable: "the request was not settled.") }
    }

    package func close(_ request: EpochClose, from device: DeviceID) async throws(StoreError) -> [ClosedStream] {
        var closed: [ClosedStream] = []
        for stream in request.streams {
            guard let writer = writers[stream.stream] else { continue }
            let job = WriterJob(
                device: device, receivedAt: (clock ?? SystemStoreClock()).now(),
                work: .close(epoch: request.epoch, stream))
            guard case .closed(let result) = await writer.perform(job) else { continue }
            closed.append(try result.get())
        }
        return closed
    }

    // MARK: What people ask

    package func balance(of device: DeviceID, after: EpochID?, limit: Int) async throws(StoreError) -> BalancePage {
        try await balanceReader.balances(of: device, after: after, limit: limit)
    }

    package func records(_ query: RecordQuery, before: String?, limit: Int) async throws(StoreError) -> RecordPage {
        try RecordPage.check(limit: limit)
        return try await listing.page(query, from: try before.map(SliceCursor.init), limit: limit, isForward: false)
    }

    package func newestRecords(
        of devices: [DeviceID], _ query: RecordQuery
    ) async throws(StoreError) -> [DeviceID: StoredRecord] {
        try await listing.newest(of: devices, query)
    }

    /// None: what cannot be read makes a call fail.
    package func unreadableFiles(of stream: StreamName) -> [String] { [] }

    // MARK: All that is stored

    package func scan(_ query: RecordQuery, after: String?) async throws(StoreError) -> RecordPage {
        try await listing.page(query, from: try after.map(SliceCursor.init), limit: .max, isForward: true)
    }

    package func balances() async throws(StoreError) -> FleetBalances { try await balanceReader.balances() }

    package func followChains() async throws(StoreError) -> ChainFindings? {
        var (position, findings) = round.withLock { ($0.position, $0.findings) }
        position = try await proof.follow(position, &findings)
        let isOver = position == nil
        if isOver { findings.partitions = try await table.list().kept.count }
        round.withLock { $0 = (position, isOver ? ChainFindings() : findings) }
        return isOver ? findings : nil
    }

    package func markedBalances(of devices: Set<DeviceID>) async throws(StoreError) -> MarkedBalances {
        try await balanceReader.marked(of: devices)
    }

    package func verify() async throws(StoreError) -> VerifyReport { try await proof.verify() }

    package func harmedPartitions() async throws(StoreError) -> [Partition: PartitionHarm] { try await table.harmed() }

    /// PostgreSQL and ClickHouse have backups of their own.
    package func backup(
        to directory: String, receive: @Sendable (BackupFile) throws(StoreError) -> Void
    ) async throws(StoreError) -> Bool {
        throw StoreError(
            .invalid,
            "A cluster's store is backed up with the tools of its servers: first PostgreSQL, then ClickHouse, then the "
                + "bucket."
        )
    }

    /// The filler of the tables for people. Run one in each collector; one at a time works.
    /// - Parameter owners: the organizations of devices. The records of a device that is not in the answer wait.
    package func peopleTables(
        owners: @escaping @Sendable (Set<DeviceID>) async -> [DeviceID: String]
    ) -> PeopleTables {
        PeopleTables(database: database, slices: slices, owners: owners, logger: logger)
    }

    // MARK: Partitions

    package func partitions() async throws(StoreError) -> PartitionList { try await table.list() }

    package func newestReceipt(in partition: Partition) async throws(StoreError) -> Int64? {
        try await table.newestReceipt(in: partition)
    }

    package func drop(_ partition: Partition) async throws(StoreError) { try await table.drop(partition) }

    package func erase(_ devices: Set<DeviceID>) async throws(StoreError) {
        try await ClusterErasure(table: table).erase(devices)
    }

    package func reclaim() async throws(StoreError) { try await table.reclaim() }

    // MARK: Condition

    package func readiness() async -> StoreReadiness {
        do throws(StoreError) {
            _ = try await database.read(mapping: StoreError.init) { session throws(StoreError) in
                try StoreRow.open(in: session)
            }
            if let fault = try await slices.fault() { return .notReady(fault) }
            // Without requests no writer would find out that its trouble is over. A balancer sends none to a store that
            // is not ready, so a write to PostgreSQL shows it.
            var troubled: [SliceWriter] = []
            for writer in writers.values where await writer.trouble != nil { troubled.append(writer) }
            if !troubled.isEmpty {
                try await database.transaction(mapping: StoreError.init) { session throws(StoreError) in
                    _ = try StoreError.mapping { () throws(PostgresError) in
                        try session.execute("UPDATE store SET is_open = is_open WHERE is_open")
                    }
                }
                for writer in troubled { await writer.forgetTrouble() }
            }
            return .ready
        } catch { return .notReady("\(error)") }
    }

    package func figures() async -> StoreFigures {
        let kept = (try? await table.list().kept) ?? []
        let waiting = try? await OutboxTable(database: database).figures()
        return StoreFigures(
            streams: StreamName.allCases.map { stream in
                let partitions = kept.filter { $0.partition.stream == stream }
                return StoreFigures.Stream(
                    stream: stream, files: partitions.count,
                    fileBytes: partitions.reduce(0) { $0 + UInt64(clamping: $1.bytes) },
                    pipelineBytes: writers[stream]?.pipeline.bytes ?? 0,
                    pipelineLimitBytes: writers[stream]?.pipeline.limits.bytes ?? 0)
            },
            peopleTables: waiting.map {
                .init(lagSeconds: Double($0.age) / 1_000_000, waitingSlices: Int($0.entries))
            })
    }

    package func shutDown() async {
        for writer in writers.values { await writer.shutDown() }
        await database.shutDown()
        await client.shutDown()
    }
}
