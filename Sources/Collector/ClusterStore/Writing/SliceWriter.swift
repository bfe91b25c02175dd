import ClickHouse
import CollectorTunables
import FoundationEssentials
import Logging
import PostgreSQL
import RecordStore
import Synchronization
import WireModel

/// One stream's writes by this collector. It handles waiting requests in groups: claim, write, move, answer.
///
/// `GroupQueue` makes the groups: while one is inserted, the marks of the former one move and the next one is claimed.
/// A group has one part at most of each chain. No lock is held while ClickHouse writes, so other collectors may claim
/// the same chains meanwhile; the newest claim wins, and parts under older ones are answered `unavailable`.
///
/// A device talks to one collector at a time, so it is seldom overtaken. A sender of OTLP may talk to all of them at
/// once. So items that are overtaken are written again after a pause, which leaves the other collector time to move the
/// mark. The pause doubles each time.
actor SliceWriter {
    nonisolated let stream: StreamName
    nonisolated let pipeline: WriterPipeline
    private let chains: ChainTable
    private let slices: SliceTable
    private let points: PointSearch
    private let incidents: @Sendable (DeviceIncident, UInt64) -> Void
    private let observer: (any StoreObserver)?
    private let logger: Logger
    private var queue: GroupQueue
    /// Groups that wait for their turn to insert.
    private var turns: [Int: CheckedContinuation<Void, Never>] = [:]
    /// Requests that wait for their outcome.
    private var waiting: [ObjectIdentifier: CheckedContinuation<Void, Never>] = [:]
    /// How often in a row items of a chain were overtaken.
    private var overtaken: [ChainKey: Int] = [:]
    /// Who waits until nothing is on its way.
    private var idle: [CheckedContinuation<Void, Never>] = []
    private var isShutDown = false
    private var isGathering = false
    /// How long the last insert took.
    private var lastInsert = Duration.zero
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
        queue = GroupQueue(limits: .init(bytes: limits.transactionBytes, parts: limits.transactionParts))
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
        // What was admitted counts until it is released.
        for job in pipeline.drain() { queue.arrived(job) }
        // It begins after this function has suspended.
        await withCheckedContinuation { continuation in
            waiting[ObjectIdentifier(job)] = continuation
            beginGroups()
        }
        return job.outcome ?? job.refusal(StoreError(.internalFault, "the request was not settled."))
    }

    /// Other requests depend on a group, so it goes on when the requests that began it are cancelled.
    private func beginGroups(isGathered: Bool = false) {
        var isGathered = isGathered
        loop: while true {
            switch queue.next(isGathered: isGathered) {
            case .begin(let group): Task { await run(group) }
            case .gather:
                gather()
                break loop
            case .wait: break loop
            }
            isGathered = false
        }
        guard queue.isEmpty else { return }
        for continuation in idle { continuation.resume() }
        idle = []
    }

    private func gather() {
        if isGathering { return }
        isGathering = true
        Task {
            try? await Task.sleep(for: min(lastInsert / 8, Tunables.Cluster.longestGathering))
            isGathering = false
            beginGroups(isGathered: true)
        }
    }

    private func run(_ group: GroupQueue.Group) async {
        let start = ContinuousClock.now
        await write(group)
        let settled = group.jobs.filter { $0.outcome != nil }
        let again = group.jobs.filter { $0.outcome == nil }
        pipeline.release(settled)
        queue.ended(group, again: again)
        for job in settled { waiting.removeValue(forKey: ObjectIdentifier(job))?.resume() }
        for job in again { pause(job.chains, after: .now - start) }
        beginGroups()
    }

    /// Writes nothing of some chains for a time that follows from how long their last group took.
    private func pause(_ chains: Set<ChainKey>, after duration: Duration) {
        let losses = chains.compactMap { overtaken[$0] }.max() ?? 1
        let pause = duration * Double.random(in: 1...2) * (1 << (losses - 1))
        Task {
            // Where a write takes long, a shorter pause ends while the other collector writes.
            try? await Task.sleep(for: min(pause, max(Tunables.Cluster.longestPause, duration * 4)))
            queue.resumed(chains)
            beginGroups()
        }
    }

    /// Whether a job whose chain another collector has claimed is written again.
    private func isTriedAgain(_ job: WriterJob, _ lost: Set<ChainKey>) -> Bool {
        guard case .number = job.work else { return false }
        let chains = job.chains
        let losses = (chains.compactMap { overtaken[$0] }.max() ?? 0) + 1
        guard !isShutDown, !chains.isDisjoint(with: lost), losses < Tunables.Cluster.numberingAttempts else {
            for chain in chains { overtaken[chain] = nil }
            return false
        }
        for chain in chains { overtaken[chain] = losses }
        return true
    }

    /// Waits until the group may insert.
    private func acquireTurn(_ group: Int) async {
        if queue.claimed(group) { return }
        await withCheckedContinuation { turns[group] = $0 }
    }

    private func giveTurn(_ group: Int) {
        if let next = queue.inserted(group) { turns.removeValue(forKey: next)?.resume() }
        beginGroups()
    }

    /// Writes the jobs' parts in rounds, each with one part at most of each chain. As a rule there is one: only a
    /// request can have several parts of a chain.
    private func write(_ group: GroupQueue.Group) async {
        let jobs = group.jobs
        let start = ContinuousClock.now
        var results = jobs.map { GroupResult(of: $0) }
        var items = jobs.enumerated().flatMap { index, job in GroupItem.items(of: job, index: index) }
        var (counts, failure) = (StoreCounts(), StoreError.Code?.none)
        var lost: Set<ChainKey> = []
        var hasTurn = false
        while !items.isEmpty {
            var chains: Set<ChainKey> = []
            var round: [GroupItem] = []
            var rest: [GroupItem] = []
            for item in items {
                if chains.insert(item.chain).inserted { round.append(item) } else { rest.append(item) }
            }
            let claimed = await claim(round)
            let moves = claimed.decisions.compactMap(\.move)
            if !hasTurn, !rest.isEmpty || moves.contains(where: { !$0.slices.isEmpty }) {
                await acquireTurn(group.number)
                hasTurn = true
            }
            if !moves.isEmpty { Failpoint.claimed.reach() }
            let errors = await insert(moves)
            if rest.isEmpty { giveTurn(group.number) }
            if !moves.isEmpty { Failpoint.inserted.reach() }
            let written = await move(claimed, errors)
            if !moves.isEmpty { Failpoint.moved.reach() }
            for (item, outcome) in zip(round, written.outcomes) { results[item.job].set(outcome, at: item.place) }
            counts.add(written.counts)
            lost.formUnion(written.lost)
            if let error = written.failure { failure = error.code }
            record(written.failure)
            items = rest
        }
        observer?.committed(
            StoreCommit(
                stream: stream, requests: jobs.count, duration: .now - start, failure: failure, counts: counts))
        for (job, result) in zip(jobs, results) where !isTriedAgain(job, lost) { job.settle(result.outcome) }
    }

    private func record(_ error: StoreError?) {
        if let error, trouble?.code != error.code {
            logger.error(
                "records cannot be stored", metadata: ["store.stream": "\(stream)", "store.error": "\(error)"])
        }
        trouble = error
    }

    /// A probe has shown that the servers accept writes again.
    func forgetTrouble() { trouble = nil }

    // MARK: One round

    private struct Claimed {
        var generation: UInt64 = 0
        /// The decisions in the order of the items.
        var decisions: [GroupDecision] = []
        /// Why nothing was claimed.
        var failure: StoreError?
    }

    private func claim(_ items: [GroupItem]) async -> Claimed {
        do throws(StoreError) {
            if isShutDown { throw StoreError(.shuttingDown, "the store is closed. Try again later.") }
            let claims = try await chains.claim(items.map(\.chain), lookingFor: items.compactMap(\.question))
            return Claimed(generation: claims.generation, decisions: await decide(items, claims))
        } catch {
            return Claimed(
                decisions: items.map { GroupDecision(item: $0, outcome: $0.refusal(error, mark: .none)) },
                failure: error)
        }
    }

    private struct Written {
        /// The outcomes in the order of the items.
        var outcomes: [GroupItem.Outcome] = []
        var counts = StoreCounts()
        /// Chains that another collector has claimed meanwhile.
        var lost: Set<ChainKey> = []
        /// Why nothing of the round, or of one of its days, was written.
        var failure: StoreError?
    }

    /// Moves the marks of the chains whose slices are written, and returns what became of each item.
    /// - Parameter errors: of the chains whose slices do not count as written.
    private func move(_ claimed: Claimed, _ errors: [ChainKey: StoreError]) async -> Written {
        var errors = errors
        var written = Written(failure: claimed.failure)
        let moves = claimed.decisions.compactMap(\.move).filter { errors[$0.chain.row.key] == nil }
        var moved: Set<ChainKey> = []
        if !moves.isEmpty {
            do throws(StoreError) { moved = try await chains.move(moves, generation: claimed.generation) } catch {
                written.failure = error
                for move in moves { errors[move.chain.row.key] = error }
            }
        }
        for decision in claimed.decisions {
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
                if errors[key] == nil { written.lost.insert(key) }
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
        let start = ContinuousClock.now
        defer { lastInsert = .now - start }
        let days = Dictionary(grouping: moves.flatMap(\.slices), by: \.day)
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
            case .number(let items):
                let known = claims.known[items.device] ?? .none
                decisions.append(.init(item, items, chain, known, version))
            }
        }
        return decisions
    }

    /// Ends after what was admitted is settled.
    func shutDown() async {
        pipeline.shutDown()
        if !queue.isEmpty { await withCheckedContinuation { idle.append($0) } }
        isShutDown = true
    }
}
