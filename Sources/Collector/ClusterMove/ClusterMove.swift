import ClusterRegistry
import ClusterStore
import CollectorMaintenance
import FoundationEssentials
import LogArchive
import Logging
import RecordStore
import Registry
import TelemetryBasics
import WireModel

/// Moves a data directory into an empty cluster: registry, records with their marks, and chunks of logs. Devices notice
/// nothing, because the ids of collector and incarnation, credentials and marks stay.
///
/// ## The story
///
/// 1. The directory is locked as a collector locks it, so none serves it meanwhile. `verify` reads all of it. Anything
///    found ends the move before it has written anything.
/// 2. PostgreSQL records whose directory is moving in. From then on the cluster's record store is closed to collectors.
/// 3. The registry is copied in one transaction (`RegistryCopy`).
/// 4. Records, stream by stream (`ClusterIntake`): what retention removed becomes floors. Then come the record files,
///    oldest first, each slice once, in the order of receipt and in large groups. Last, each chain gets its totals and
///    its closure.
/// 5. Chunks are put into the bucket, and read back (`ChunkMove`).
/// 6. Proof: `verify` reads every record in the cluster. Each chain is compared with the directory's, each table of the
///    registry by its rows.
/// 7. A marker in the directory refuses it to every later writer (`MovedMarker`). Then the cluster opens.
///
/// ## Its promises
///
/// - *Only one of the two accepts records.* The cluster is closed until the marker is on synced disk. A directory whose
///   move has not ended may be served again.
/// - *No record twice, none lost.* The marks in PostgreSQL are the progress. A slice counts if its mark has moved, in
///   one transaction with the record of how far its file is imported. A group with unknown outcome is imported again,
///   under a new claim.
/// - *A move that was cut short goes on.* Only that of the same collector does. What changed in the directory meanwhile
///   is imported too: new slices, the registry as it is now, days that retention has removed.
///
/// ## Argued against
///
/// - *Killed between marker and opening*: the directory is marked, and the cluster still has the entry. The next run
///   sees both, and opens the cluster.
/// - *The marker of another cluster*: this cluster has no entry of the directory, so the move is refused.
/// - *A collector starts on the cluster meanwhile*: each claim and each move of a mark checks the entry. A registry
///   with the ids of another collector ends the move.
/// - *ClickHouse has slices of an earlier cluster*: they could outrank the moved ones. So its tables must be empty.
/// - *The directory was served and damaged between two runs*: records that were moved may be lost there. The marks then
///   differ, and the move says so. It does not choose between two histories.
/// - *Why not through the store's `append`?* It would fix the day anew, and refuse what only a salvage writes.
package struct ClusterMove: Sendable {
    private let source: MoveSource
    private let configuration: ClusterRecordStore.Configuration
    private let registry: PostgresRegistry
    private let chunks: any ChunkStore
    /// Names the cluster in the directory's marker, without a password.
    private let name: String
    private let clock: any StoreClock
    private let logger: Logger
    private let failpoint: @Sendable (MovePoint) throws(StoreError) -> Void

    /// The most slices that share a group.
    var slicesTogether = 8000
    static let bytesTogether = 16 << 20
    private static let attempts = 6
    private static let chainsTogether = 8000

    /// - Parameters:
    ///   - source: held exclusively. The caller closes it.
    ///   - registry: in the same database as the marks, with its tables up to date.
    ///   - name: names the cluster for people, without a password.
    ///   - failpoint: is called at each point, and ends the move by throwing; for tests.
    package init(
        from source: MoveSource, to configuration: ClusterRecordStore.Configuration, registry: PostgresRegistry,
        chunks: any ChunkStore, name: String, clock: any StoreClock = SystemStoreClock(), logger: Logger
    ) {
        self.init(
            from: source, to: configuration, registry: registry, chunks: chunks, name: name, clock: clock,
            logger: logger, failpoint: { _ in })
    }

    init(
        from source: MoveSource, to configuration: ClusterRecordStore.Configuration, registry: PostgresRegistry,
        chunks: any ChunkStore, name: String, clock: any StoreClock, logger: Logger,
        failpoint: @escaping @Sendable (MovePoint) throws(StoreError) -> Void
    ) {
        self.source = source
        self.configuration = configuration
        self.registry = registry
        self.chunks = chunks
        self.name = name
        self.clock = clock
        self.logger = logger
        self.failpoint = failpoint
    }

    // MARK: Dry run

    /// Returns what would be moved, without looking at the cluster. Reads the directory beside a running collector.
    package static func plan(of source: MoveSource) async throws(StoreError) -> MoveReport {
        var report = MoveReport()
        for item in try await source.partitions() {
            report.files += 1
            report.fileBytes += item.bytes
        }
        for stream in StreamName.allCases {
            let chains = try await source.chains(of: stream)
            report.chains += chains.count
            for chain in chains { report.records.addSaturating(chain.state.mark.stored) }
            for removed in try await source.removedChains(of: stream) {
                report.records.subtractSaturating(removed.state.mark.stored)
            }
        }
        (report.chunks, report.chunkBytes) = try await source.chunkTotals()
        return report
    }

    // MARK: Run

    /// - Parameter tell: receives news for people; called from any thread.
    /// - Throws: `.corrupt` with the first finding if the directory, or at the end the cluster, is not whole;
    ///   `.conflict` if the cluster is not empty, or the directory has moved elsewhere; `.unavailable` if a server does
    ///   not answer. The same move may be run again then.
    package func run(_ report: @escaping @Sendable (MoveNews) -> Void) async throws(StoreError) -> MoveReport {
        let intake = try await ClusterIntake.open(configuration, from: source.collectorID, logger: logger)
        do throws(StoreError) {
            let report = try await run(intake, MoveReporter(report))
            await intake.shutDown()
            return report
        } catch {
            await intake.shutDown()
            throw error
        }
    }

    private func run(_ intake: ClusterIntake, _ reporter: MoveReporter) async throws(StoreError) -> MoveReport {
        let standing = try await intake.standing()
        if let moved = source.moved {
            guard standing == .resumed else {
                throw StoreError(.conflict, "\(source.path) has moved already, to the cluster \(moved.cluster).")
            }
            try await intake.finish()
            reporter.step("an earlier move had proved everything; the cluster is open to collectors now")
            return MoveReport()
        }
        var report = try await verifySource(reporter)
        // Before the move is recorded, because the entry closes the cluster to its collectors.
        try await RegistryCopy(to: registry).requireEmpty(otherThan: source.collectorID)
        try await intake.begin()
        reporter.step(standing == .new ? "the move has begun" : "an earlier move of this directory goes on")
        try failpoint(.recorded)
        try await copyRegistry(intake, &report, reporter)
        try failpoint(.registryCopied)
        for stream in StreamName.allCases { try await moveRecords(of: stream, intake, &report, reporter) }
        try failpoint(.chainsSettled)
        let carried = try await ChunkMove(source: source, store: chunks).run { done throws(StoreError) in
            reporter.progress { "\(done.chunks) chunks, \(done.bytes) bytes" }
        }
        reporter.step(
            "chunks of logs: \(carried.chunks) with \(carried.bytes) bytes; \(carried.found) of them were there already"
        )
        (report.chunks, report.chunkBytes) = (carried.chunks, carried.bytes)
        try failpoint(.chunksCarried)
        try await prove(intake, &report, reporter)
        try failpoint(.proved)
        try source.mark(MovedMarker(cluster: name, at: clock.now()))
        try failpoint(.marked)
        try await intake.finish()
        reporter.step("\(source.path) is marked as moved, and the cluster is open to collectors")
        return report
    }

    private func verifySource(_ reporter: MoveReporter) async throws(StoreError) -> MoveReport {
        let found = try await reporter.during("verifying \(source.path)") { () async throws(StoreError) in
            try await source.verify()
        }
        try Self.requireWhole(found, "the data directory")
        reporter.step(
            "verified \(source.path): \(found.files) record files, \(found.chains) chains, \(found.records) records, "
                + "\(found.chunks) chunks")
        var report = MoveReport()
        for item in try await source.partitions() {
            report.files += 1
            report.fileBytes += item.bytes
        }
        (report.slices, report.records) = (found.slices, found.records)
        (report.chunks, report.chunkBytes) = (found.chunks, Int64(clamping: found.chunkBytes))
        return report
    }

    static func requireWhole(_ found: VerifyReport, _ what: String) throws(StoreError) {
        guard let first = found.findings.first else { return }
        let count = found.findingCount
        throw StoreError(
            .corrupt,
            "\(what) is not intact: \(first.file): \(first.message) (\(CountText.of(count, "finding"))). "
                + "`ws1collector verify` lists them all.")
    }

    private func copyRegistry(
        _ intake: ClusterIntake, _ report: inout MoveReport, _ reporter: MoveReporter
    ) async throws(StoreError) {
        let source = source
        let copied = try await RegistryCopy(to: registry).run(
            of: source.collectorID, from: { () throws(StoreError) in try source.openRegistry() }, fence: intake.fence,
            progress: { rows in reporter.progress { "\(rows) rows of the registry" } })
        report.registryRows = copied.total
        reporter.step("registry: \(copied.total) rows in \(copied.rows.count) tables")
    }

    // MARK: Records

    private func moveRecords(
        of stream: StreamName, _ intake: ClusterIntake, _ report: inout MoveReport, _ reporter: MoveReporter
    ) async throws(StoreError) {
        let (days, removed) = (
            try await source.removedDays(of: stream), try await source.removedChains(of: stream)
        )
        try await repeating { () async throws(StoreError) in
            try await intake.applyRemoved(days, removed, of: stream)
        }
        try failpoint(.floorsTaken)
        var taken = 0
        for item in try await source.partitions() where item.partition.stream == stream {
            taken += try await move(item.partition, intake, reporter)
        }
        let chains = try await source.chains(of: stream)
        var settled = 0
        for some in Self.pages(of: chains) {
            try await repeating { () async throws(StoreError) in
                settled += try await intake.settle(some, of: stream)
            }
        }
        report.chains += chains.count
        reporter.step(
            """
            \(stream): \(removed.count) chains with \(days.count) removed days, \(taken) slices of \(chains.count) \
            chains, \(settled) totals and closures
            """)
    }

    private func move(
        _ partition: Partition, _ intake: ClusterIntake, _ reporter: MoveReporter
    ) async throws(StoreError) -> Int {
        var last = try await intake.lastTaken(of: partition)
        var count = 0
        while true {
            let slices = try await source.slices(
                in: partition, after: last, count: slicesTogether, bytes: Self.bytesTogether)
            guard let end = slices.last else { return count }
            try await repeating { () async throws(StoreError) in
                try await intake.accept(slices, of: partition) { () throws(StoreError) in try failpoint(.groupWritten) }
            }
            last = end.slice.id
            count += slices.count
            let done = count
            reporter.progress { "\(partition.name): \(done) slices" }
            try failpoint(.groupMoved)
        }
    }

    private static func pages(of chains: [MovingChain]) -> [[MovingChain]] {
        stride(from: 0, to: chains.count, by: chainsTogether).map {
            Array(chains[$0..<min($0 + chainsTogether, chains.count)])
        }
    }

    /// Tries again while a server does not answer, for about half a minute.
    private func repeating(_ body: () async throws(StoreError) -> Void) async throws(StoreError) {
        for attempt in 1... {
            do throws(StoreError) { return try await body() } catch {
                guard error.code == .unavailable, attempt < Self.attempts else { throw error }
                logger.notice("a server does not answer; trying again", metadata: ["store.error": "\(error)"])
                do { try await Task.sleep(for: .seconds(1 << (attempt - 1))) } catch {
                    throw StoreError(.shuttingDown, "the move was ended. Run it again to go on.")
                }
            }
        }
    }

    // MARK: Proof

    private func prove(
        _ intake: ClusterIntake, _ report: inout MoveReport, _ reporter: MoveReporter
    ) async throws(StoreError) {
        let found = try await reporter.during("verifying the cluster") { () async throws(StoreError) in
            try await intake.verify()
        }
        try Self.requireWhole(found, "the cluster")
        for stream in StreamName.allCases {
            try await intake.compare(try await source.chains(of: stream), of: stream)
        }
        guard found.records == report.records else {
            throw StoreError(
                .corrupt,
                """
                the cluster has \(found.records) records, and the data directory \(report.records). Make the cluster \
                anew, and move again.
                """)
        }
        let source = source
        let different = try await RegistryCopy(to: registry).differences { () throws(StoreError) in
            try source.openRegistry()
        }
        guard different.isEmpty else {
            throw StoreError(.corrupt, "the registry differs: \(different.joined(separator: ", ")).")
        }
        reporter.step(
            """
            verified the cluster: \(found.chains) chains, \(found.records) records; marks, counts, totals and closures \
            of all chains are those of the data directory
            """)
    }
}
