import ClickHouse
import FoundationEssentials
import PostgreSQL
import RecordStore
import WireModel

extension ClusterIntake {
    // MARK: Slices

    /// The last slice of a partition that is imported; 0: none is.
    package func lastTaken(of partition: Partition) async throws(StoreError) -> Int64 {
        try await database.read(mapping: StoreError.init) { session throws(StoreError) in
            try StoreError.mapping { () throws(PostgresError) in
                try session.query(
                    "SELECT slice FROM imported WHERE stream = $1 AND day = $2", partition.stream.rawValue,
                    partition.day.number
                ).first?.int64(0) ?? 0
            }
        }
    }

    /// Imports the next slices of a partition, whose older ones and older partitions are imported. Each slice is proved
    /// against the mark before it.
    /// - Parameters:
    ///   - arriving: in the order of receipt.
    ///   - written: called when ClickHouse has the slices, before the marks move; for tests.
    /// - Throws: `.unavailable` if a server does not answer or the outcome of a write is not known. The same slices may
    ///   be imported again then. `.corrupt` if a slice does not continue its chain.
    package func accept(
        _ arriving: [MovingSlice], of partition: Partition, written: () throws(StoreError) -> Void = {}
    ) async throws(StoreError) {
        guard let last = arriving.last?.slice.id else { return }
        let (stream, day) = (partition.stream, partition.day)
        let chains = table(of: stream, day: day, after: last)
        let claims = try await chains.claim(Set(arriving.map(\.chain)))
        Failpoint.claimed.reach()
        var moves: [ChainKey: ChainTable.Move] = [:]
        for one in arriving {
            guard let claimed = claims.chains[one.chain], claimed.day == day else {
                throw StoreError(.internalFault, "a chain of \(partition.name) was not claimed for its day.")
            }
            var move = moves[one.chain] ?? ChainTable.Move(chain: claimed, state: claimed.row.state)
            // The same directory may have been moved in part, salvaged, and moved again.
            if one.slice.last <= move.state.mark.number { continue }
            let former = move.state.mark
            move.state.mark = try one.mark(after: former, partition)
            move.state.totals = one.totals
            move.slices.append(
                NewSlice(
                    chain: one.chain, version: SliceVersion(generation: claims.generation, attempt: claimed.attempt),
                    day: day, position: day.start + one.slice.id, before: former, after: move.state,
                    receivedAt: one.slice.receivedAt, content: one.slice, bounds: one.bounds, keys: one.keys))
            moves[one.chain] = move
        }
        try await write(Array(moves.values), stream)
        Failpoint.inserted.reach()
        try written()
        let expected = moves.count
        try await move(Array(moves.values), chains, claims) { session, moved throws(StoreError) in
            guard moved.count == expected else { throw .superseded }
            _ = try StoreError.mapping { () throws(PostgresError) in
                try session.execute(
                    """
                    INSERT INTO imported (stream, day, slice) VALUES ($1, $2, $3)
                    ON CONFLICT (stream, day) DO UPDATE SET slice = greatest(imported.slice, excluded.slice)
                    """, stream.rawValue, day.number, last)
            }
        }
        Failpoint.moved.reach()
    }

    private func write(_ moves: [ChainTable.Move], _ stream: StreamName) async throws(StoreError) {
        let new = moves.flatMap(\.slices)
        if new.isEmpty { return }
        switch await slices.insert(new, of: stream) {
        case .stored: return
        case .notStored(let error), .unknown(let error):
            throw StoreError(.unavailable, "ClickHouse: \(error.message)")
        }
    }

    private func move(
        _ moves: [ChainTable.Move], _ chains: ChainTable, _ claims: ChainTable.Claims,
        also: @escaping @Sendable (PostgresSession, Set<ChainKey>) throws(StoreError) -> Void
    ) async throws(StoreError) {
        _ = try await chains.move(moves, generation: claims.generation, also: also)
    }

    // MARK: Chains

    /// Gives chains whose slices are imported the state that they have in the directory: totals, and closures.
    /// - Parameter arriving: all chains of the stream, or a part of them, by devices.
    /// - Returns: how many were not in that state before.
    /// - Throws: `.corrupt` if a mark differs.
    package func settle(_ arriving: [MovingChain], of stream: StreamName) async throws(StoreError) -> Int {
        let rows = try await rows(of: arriving, stream)
        var different: [UTCDay: [MovingChain]] = [:]
        for chain in arriving {
            let row = rows[chain.key]
            if row?.state == chain.state { continue }
            let mark = row?.state.mark ?? .none
            guard mark == chain.state.mark else { throw .differs(chain, stream, mark.number) }
            different[chain.day ?? UTCDay(number: 0), default: []].append(chain)
        }
        for (day, some) in different.sorted(by: { $0.key < $1.key }) {
            let chains = table(of: stream, day: day, after: 0)
            let claims = try await chains.claim(some.map(\.key))
            var moves: [ChainTable.Move] = []
            for chain in some {
                guard let claimed = claims.chains[chain.key] else { continue }
                var move = ChainTable.Move(chain: claimed, state: chain.state)
                // The closure of a removed chain is in its floor.
                if let closed = chain.state.closed, claimed.row.state.closed == nil, chain.day != nil {
                    move.slices = [
                        NewSlice(
                            chain: chain.key,
                            version: SliceVersion(generation: claims.generation, attempt: claimed.attempt),
                            day: claimed.day, position: claimed.position, before: chain.state.mark, after: chain.state,
                            receivedAt: closed.at, content: nil)
                    ]
                }
                moves.append(move)
            }
            // They share a day unless the directory has changed since an earlier intake.
            for together in Dictionary(grouping: moves, by: \.day).values { try await write(together, stream) }
            let expected = moves.count
            try await move(moves, chains, claims) { _, moved throws(StoreError) in
                guard moved.count == expected else { throw .superseded }
            }
        }
        return different.values.reduce(0) { $0 + $1.count }
    }

    // MARK: Proof

    /// Proves every record in the cluster, as `verify` does.
    package func verify() async throws(StoreError) -> VerifyReport {
        try await ChainProof(reader: SliceReader(database: database, slices: slices)).verify()
    }

    /// Compares chains with the directory's: numbers, links, counts, totals and closures.
    /// - Parameter arriving: all chains of the stream.
    /// - Throws: `.corrupt` for the first one that differs.
    package func compare(_ arriving: [MovingChain], of stream: StreamName) async throws(StoreError) {
        var rest = arriving[...]
        while !rest.isEmpty {
            let some = Array(rest.prefix(Self.chainsTogether))
            rest = rest.dropFirst(Self.chainsTogether)
            let rows = try await rows(of: some, stream)
            for chain in some where rows[chain.key]?.state ?? ChainState() != chain.state {
                throw .differs(chain, stream, rows[chain.key]?.state.mark.number ?? 0)
            }
        }
        // A chain of which nothing is known is only a claim.
        let known = try await database.read(mapping: StoreError.init) { session throws(StoreError) in
            try StoreError.mapping { () throws(PostgresError) in
                try session.query(
                    """
                    SELECT count(*) FROM chain WHERE stream = $1 AND (number > 0 OR closed_last IS NOT NULL OR totals \
                    <> $2)
                    """,
                    stream.rawValue, ChainColumns.none.totals)[0].int(0)
            }
        }
        let expected = arriving.count { $0.state != ChainState() }
        guard known == expected else {
            throw StoreError(
                .corrupt,
                """
                the cluster has \(known) chains of \(stream), and the data directory \(expected). Make the cluster \
                anew, and move again.
                """)
        }
    }
}

extension MovingSlice {
    /// The mark after the slice.
    /// - Throws: `.corrupt` if it does not continue the chain, or its bytes are not those that were accepted.
    fileprivate func mark(after former: StreamMark, _ partition: Partition) throws(StoreError) -> StreamMark {
        func fault(_ message: String) -> StoreError {
            StoreError(
                .corrupt,
                """
                \(partition.name), device \(chain.device), epoch \(chain.epoch), slice \(slice.first)...\(slice.last): \
                \(message). `ws1collector verify` tells more.
                """)
        }
        let hole = slice.first &- 1 &- former.number
        guard slice.first > former.number, hole == slice.lostBefore, hole > 0 || slice.priorLink == former.link else {
            throw fault("it does not continue the chain after \(former.number)")
        }
        var mark = former
        do throws(StoredSlice.Fault) { try slice.count(into: &mark) } catch { throw fault(error.message) }
        mark.lostAtCollector.addSaturating(hole)
        (mark.number, mark.link) = (slice.last, slice.lastLink)
        return mark
    }
}

extension StoreError {
    fileprivate static let superseded = StoreError(
        .unavailable, "another move of the same directory has taken over. Try again.")
}
