import ClickHouse
import FoundationEssentials
import PostgreSQL
import RecordStore
import WireModel

/// Reads the slices that PostgreSQL's marks vouch for.
///
/// It asks PostgreSQL for the marks, then a replica for the slices between them. If they do not continue each other up
/// to the mark, it asks the other replicas. If none has them all, the call fails, so a hole never looks like data.
struct SliceReader: Sendable {
    let database: PostgresDatabase
    let slices: SliceTable

    /// The slices of one stream that count, by chain and in the order of their keys.
    struct Winners: Sendable {
        var chains: [ChainKey: [SliceHead]] = [:]
        /// The replica that has them all.
        var replica: ClickHouseReplica?

        var heads: [SliceHead] { chains.values.flatMap { $0 } }
    }

    /// Chains in one query. Their names make its text.
    static let chainsPerQuery = 2000

    /// - Parameters:
    ///   - stretches: what must be covered.
    ///   - days: where the slices lie; `nil` if that is not known.
    /// - Throws: `.unavailable` if no replica that answers has all.
    func winners(
        of stretches: [ChainKey: SliceTiling.Stretch], days: ClosedRange<UTCDay>?, stream: StreamName
    ) async throws(StoreError) -> Winners {
        var all = Winners()
        let wanted = stretches.filter { !$0.value.isEmpty }
        var rest = Array(wanted.keys)[...]
        while !rest.isEmpty {
            let keys = rest.prefix(Self.chainsPerQuery)
            rest = rest.dropFirst(Self.chainsPerQuery)
            let part = try await self.winners(of: wanted, keys: keys, days: days, stream: stream)
            all.chains.merge(part.chains) { first, _ in first }
            all.replica = part.replica
        }
        return all
    }

    private func winners(
        of stretches: [ChainKey: SliceTiling.Stretch], keys: ArraySlice<ChainKey>, days: ClosedRange<UTCDay>?,
        stream: StreamName
    ) async throws(StoreError) -> Winners {
        try await onAnyReplica { replica throws(StoreError) in
            let (heads, answering) = try await slices.heads(of: keys, days: days, stream: stream, on: replica)
            let byChain = Dictionary(grouping: heads, by: \.chain)
            var winners = Winners(replica: answering)
            for key in keys {
                guard let stretch = stretches[key] else { continue }
                do throws(SliceTiling.Hole) {
                    winners.chains[key] = try SliceTiling.winners(of: byChain[key] ?? [], in: stretch)
                } catch { throw StoreError.lagging(answering, key, after: error.number, mark: stretch.endNumber) }
            }
            return winners
        }
    }

    /// Bytes of slices in one answer, if there is more than one slice.
    private static let bytesTogether: UInt64 = 4 << 20

    /// Selects the first slices of a list whose contents fit into one answer.
    /// - Parameters:
    ///   - count: the most slices.
    ///   - records: selects no more slices once those selected have so many records.
    static func merge(
        _ rest: inout ArraySlice<SliceSummary>, count most: Int, records: Int = .max
    ) -> ArraySlice<SliceSummary> {
        var (count, found, bytes): (Int, UInt64, UInt64) = (0, 0, 0)
        while count < min(rest.count, most), found < UInt64(records), bytes < bytesTogether {
            let slice = rest[rest.startIndex + count]
            found.addSaturating(slice.recordCount)
            bytes.addSaturating(slice.byteCount)
            count += 1
        }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }

    /// Slices, from the replica that has named them or another.
    func contents(
        of summaries: some Collection<SliceSummary>, _ content: SliceTable.Content, stream: StreamName,
        preferring replica: ClickHouseReplica?
    ) async throws(StoreError) -> [SlicePlace: StoredSlice] {
        if summaries.isEmpty { return [:] }
        do throws(StoreError) {
            return try await onAnyReplica(preferring: replica) { replica throws(StoreError) in
                try await slices.slices(summaries, content, of: stream, on: replica)
            }
        } catch {
            // The answer may be too large: a summary does not count the bytes of rejected records.
            guard error.code == .corrupt, summaries.count > 1 else { throw error }
            let half = summaries.count / 2
            let first = try await contents(
                of: Array(summaries.prefix(half)), content, stream: stream, preferring: replica)
            let second = try await contents(
                of: Array(summaries.dropFirst(half)), content, stream: stream, preferring: replica)
            return first.merging(second) { first, _ in first }
        }
    }

    /// Asks the first replica that answers, then each of the others, until the body succeeds.
    func onAnyReplica<T>(
        preferring preferred: ClickHouseReplica? = nil,
        _ body: (ClickHouseReplica?) async throws(StoreError) -> T
    ) async throws(StoreError) -> T {
        var first: StoreError
        do throws(StoreError) { return try await body(preferred) } catch {
            guard error.code == .unavailable else { throw error }
            first = error
        }
        for replica in slices.client.replicas where replica != preferred {
            do throws(StoreError) { return try await body(replica) } catch {
                guard error.code == .unavailable else { throw error }
                if first.message != error.message { first.message += " \(error.message)" }
            }
        }
        throw first
    }
}

extension StoreError {
    static func lagging(
        _ replica: ClickHouseReplica?, _ chain: ChainKey, after number: UInt64, mark: UInt64
    ) -> StoreError {
        StoreError(
            .unavailable,
            "the replica \(replica.map { "\($0)" } ?? "") of ClickHouse lags: of device \(chain.device), "
                + "epoch \(chain.epoch), it lacks records after number \(number), and the mark is at \(mark).")
    }
}
