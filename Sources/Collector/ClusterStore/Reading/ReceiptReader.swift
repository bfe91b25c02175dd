import ClickHouse
import PostgreSQL
import RecordStore
import WireModel

/// Reads the slices of many devices in the order of receipt, a stretch at a time.
///
/// PostgreSQL's receipts say which slices of a stretch count: exactly these, by their digests. A replica that has them
/// all has the whole stretch. Whatever else it has there does not count: a lower version, or a slice whose mark never
/// moved. So neither the chains' marks nor the rest of the day must be read. A replica that lacks one lags, and the
/// next one is asked.
struct ReceiptReader: Sendable {
    let reader: SliceReader

    struct Stretch: Sendable {
        /// The slices in any order.
        var slices: [SliceSummary] = []
        /// The replica that has them all.
        var replica: ClickHouseReplica?
        /// The position to go on behind; `nil` at the day's end.
        var end: Int64?
    }

    /// The next slices of a day.
    /// - Parameters:
    ///   - position: where the stretch begins, inclusive; `nil` from the first in the direction.
    ///   - horizon: leaves out later positions.
    ///   - since: leaves out positions without a slice received since then.
    ///   - count: about so many slices. The last position is whole.
    /// - Throws: `.unavailable` if no replica that answers has all.
    func next(
        on day: UTCDay, from position: Int64?, upTo horizon: Int64 = .max, isForward: Bool, since: Int64?, count: Int,
        _ stream: StreamName
    ) async throws(StoreError) -> Stretch {
        let receipts = try await reader.database.read(mapping: StoreError.init) { session throws(StoreError) in
            try ReceiptTable.next(
                on: day, from: position, upTo: horizon, isForward: isForward, since: since, count: count, stream,
                in: session)
        }
        guard let positions = receipts.map(\.position).bounds else { return Stretch() }
        do throws(StoreError) {
            var stretch = try await slices(of: receipts, on: day, positions, stream)
            stretch.end = isForward ? positions.upperBound : positions.lowerBound
            return stretch
        } catch {
            guard error.code == .unavailable, try await isDropped(day, stream) else { throw error }
            return Stretch()
        }
    }

    private func slices(
        of receipts: [Receipt], on day: UTCDay, _ positions: ClosedRange<Int64>, _ stream: StreamName
    ) async throws(StoreError) -> Stretch {
        let wanted = receipts.reduce(into: [Int64: Set<UInt64>]()) { $0[$1.position, default: []].formUnion($1.slices) }
        return try await reader.onAnyReplica { replica throws(StoreError) in
            let (summaries, answering) = try await reader.slices.summaries(
                on: day, positions: positions, stream, on: replica)
            var missing = wanted
            var stretch = Stretch(replica: answering)
            for summary in summaries where missing[summary.position]?.remove(SliceDigest.of(summary.id)) != nil {
                stretch.slices.append(summary)
            }
            let count = missing.values.reduce(0) { $0 + $1.count }
            guard count == 0 else { throw StoreError.lagging(answering, lacking: count, of: stream, on: day) }
            return stretch
        }
    }

    /// Whether the day was dropped after its receipts were read.
    private func isDropped(_ day: UTCDay, _ stream: StreamName) async throws(StoreError) -> Bool {
        try await reader.database.read(mapping: StoreError.init) { session throws(StoreError) in
            try !ChainTable.keptDays(stream, in: session).contains(day)
        }
    }
}

extension StoreError {
    fileprivate static func lagging(
        _ replica: ClickHouseReplica?, lacking count: Int, of stream: StreamName, on day: UTCDay
    ) -> StoreError {
        StoreError(
            .unavailable,
            "the replica \(replica.map { "\($0)" } ?? "") of ClickHouse lags: it lacks \(count) slices of \(stream) "
                + "received on \(day).")
    }
}
