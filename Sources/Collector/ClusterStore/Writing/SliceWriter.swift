import ClickHouse
import CollectorStore
import FoundationEssentials
import Logging
import PostgreSQL
import Synchronization
import WireModel

/// One stream's writes by this collector. It handles waiting requests in groups: claim, write, move, answer.
///
/// A group has one part at most of each chain. No lock is held while ClickHouse writes, so other collectors may claim
/// the same chains meanwhile; the newest claim wins, and parts under older ones are answered `unavailable`.
actor SliceWriter {
    nonisolated let stream: StreamName
    nonisolated let pipeline: WriterPipeline
    private let chains: ChainTable
    private let slices: SliceTable
    private let points: PointSearch
    private let incidents: @Sendable (DeviceIncident, UInt64) -> Void
    private let observer: (any StoreObserver)?
    private let logger: Logger
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private var isWriting = false
    private var isShutDown = false
    /// The error of the last group, until one succeeds.
    private(set) var trouble: StoreError?

    init(
        chains: ChainTable, slices: SliceTable, points: PointSearch, limits: WriterPipeline.Limits,
        incidents: @escaping @Sendable (DeviceIncident, UInt64) -> Void, observer: (any StoreObserver)?, logger: Logger
    ) {
        stream = chains.stream
        self.chains = chains
        self.slices = slices
        self.points = points
        self.incidents = incidents
        self.observer = observer
        self.logger = logger
        pipeline = WriterPipeline(limits: limits)
    }

    /// Puts the job into the pipeline and waits until it is settled. A job that is not admitted is settled at once.
    func perform(_ job: WriterJob) async -> WriterJob.Outcome {
        switch pipeline.admit(job) {
        case .admitted: break
        case .full(let bytes, let parts):
            return job.refusal(
                StoreError(
                    .overloaded, "\(parts) parts, \(bytes) bytes of the \(stream) stream wait. Try again later."))
        case .shutDown: return job.refusal(StoreError(.shuttingDown, "the store is closed. Try again later."))
        }
        while true {
            if let outcome = job.outcome { return outcome }
            if isWriting {
                await withCheckedContinuation { waiting.append($0) }
            } else {
                await writeNextGroup()
            }
        }
    }

    /// Other requests depend on the group, so it goes on when the request that began it is cancelled.
    private func writeNextGroup() async {
        isWriting = true
        let jobs = pipeline.take()
        await Task { await write(jobs) }.value
        pipeline.release(jobs)
        isWriting = false
        let resumed = waiting
        waiting = []
        for continuation in resumed { continuation.resume() }
    }

    /// Writes the jobs' parts in rounds, each with one part at most of each chain.
    private func write(_ jobs: [WriterJob]) async {
        let start = ContinuousClock.now
        var results = jobs.map { GroupResult(of: $0) }
        var items = jobs.enumerated().flatMap { index, job in GroupItem.items(of: job, index: index) }
        var (counts, failure) = (StoreCounts(), StoreError.Code?.none)
        while !items.isEmpty {
            var chains: Set<ChainKey> = []
            var round: [GroupItem] = []
            var rest: [GroupItem] = []
            for item in items {
                if chains.insert(item.chain).inserted { round.append(item) } else { rest.append(item) }
            }
            let written = await write(round)
            for (item, outcome) in zip(round, written.outcomes) { results[item.job].set(outcome, at: item.place) }
            counts.add(written.counts)
            if let error = written.failure { failure = error.code }
            note(written.failure)
            items = rest
        }
        observer?.committed(
            StoreCommit(
                stream: stream, requests: jobs.count, duration: .now - start, failure: failure, counts: counts))
        for (job, result) in zip(jobs, results) { job.settle(result.outcome) }
    }

    private func note(_ error: StoreError?) {
        if let error, trouble?.code != error.code {
            logger.error(
                "records cannot be stored", metadata: ["store.stream": "\(stream)", "store.error": "\(error)"])
        }
        trouble = error
    }

    /// A probe has shown that the servers take writes again.
    func forgetTrouble() { trouble = nil }

    // MARK: One round

    private struct Written {
        /// In the order of the items.
        var outcomes: [GroupItem.Outcome] = []
        var counts = StoreCounts()
        /// Why nothing of the round, or of one of its days, was written.
        var failure: StoreError?
    }

    private func write(_ items: [GroupItem]) async -> Written {
        let claims: ChainTable.Claims
        do throws(StoreError) {
            if isShutDown { throw StoreError(.shuttingDown, "the store is closed. Try again later.") }
            claims = try await chains.claim(items.map(\.chain))
        } catch {
            return Written(outcomes: items.map { $0.refusal(error, mark: .none) }, failure: error)
        }
        let decisions = await decide(items, claims)
        var written = Written()
        var errors = await insert(decisions.compactMap(\.move))
        var moves: [ChainTable.Move] = []
        for move in decisions.compactMap(\.move) where errors[move.chain.row.key] == nil { moves.append(move) }
        var moved: Set<ChainKey> = []
        if !moves.isEmpty {
            do throws(StoreError) { moved = try await chains.move(moves, generation: claims.generation) } catch {
                written.failure = error
                for move in moves { errors[move.chain.row.key] = error }
            }
        }
        for decision in decisions {
            let key = decision.item.chain
            guard let move = decision.move else {
                written.outcomes.append(decision.outcome)
                continue
            }
            if moved.contains(key) {
                for (incident, count) in decision.incidents { incidents(incident, count) }
                written.counts.add(decision.counts)
                written.outcomes.append(decision.outcome)
            } else {
                let error =
                    errors[key]
                    ?? StoreError(
                        .unavailable, "another collector has taken over this stream of the device. Try again.")
                written.outcomes.append(decision.item.refusal(error, mark: move.chain.row.state.mark))
            }
        }
        written.failure = written.failure ?? errors.values.first
        return written
    }

    /// Writes the slices, one insert for each day.
    /// - Returns: the chains whose slices do not count as written, with the reason.
    private func insert(_ moves: [ChainTable.Move]) async -> [ChainKey: StoreError] {
        var errors: [ChainKey: StoreError] = [:]
        let days = Dictionary(grouping: moves.compactMap(\.slice), by: \.day)
        for (_, slices) in days.sorted(by: { $0.key < $1.key }) {
            let outcome = await insert(slices)
            let error: StoreError
            switch outcome {
            case .stored: continue
            case .notStored(let cause), .unknown(let cause): error = StoreError(cause)
            }
            for slice in slices { errors[slice.chain] = error }
        }
        return errors
    }

    /// An older engine refuses a second quorum insert into a table, so collectors take turns there. Who loses the lock
    /// meanwhile is refused by the engine, so the lock decides nothing.
    private func insert(_ slices: [NewSlice]) async -> InsertOutcome {
        let (table, stream) = (self.slices, stream)
        if table.takesParallelInserts { return await table.insert(slices, of: stream) }
        do throws(PostgresError) {
            return try await chains.database.inTurn(StoreLock.insert(into: stream.rawValue)) {
                await table.insert(slices, of: stream)
            }
        } catch {
            return .notStored(ClickHouseError(.unavailable, "the turn to insert did not come: \(error.message)"))
        }
    }

    private func decide(_ items: [GroupItem], _ claims: ChainTable.Claims) async -> [GroupDecision] {
        var decisions: [GroupDecision] = []
        for item in items {
            guard let chain = claims.chains[item.chain] else {
                let error = StoreError(.internalFault, "a chain was not claimed.")
                decisions.append(GroupDecision(item: item, outcome: item.refusal(error, mark: .none)))
                continue
            }
            let version = SliceVersion(generation: claims.generation, attempt: chain.attempt)
            switch item.work {
            case .append(let part): decisions.append(.init(item, part, chain, version, stream))
            case .close(let request):
                do throws(StoreError) {
                    let match = try await points.match(request.points, of: chain.row, stream)
                    decisions.append(.init(item, request, match, chain, version, stream))
                } catch { decisions.append(GroupDecision(item: item, outcome: .closed(.failure(error)))) }
            }
        }
        return decisions
    }

    /// Ends after what was admitted is settled.
    func shutDown() async {
        pipeline.shutDown()
        while pipeline.bytes > 0 {
            if isWriting { await withCheckedContinuation { waiting.append($0) } } else { await writeNextGroup() }
        }
        isShutDown = true
    }
}
