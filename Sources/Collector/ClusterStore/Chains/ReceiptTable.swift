import FoundationEssentials
import PostgreSQL
import RecordStore
import WireModel

/// The table `receipt`: the slices that count, in the order of their receipt.
///
/// A list over many devices needs to know what a replica must have of a stretch of time. Marks do not say that, because
/// any chain may have a slice there. So the transaction that moves marks over slices also records those slices here, by
/// their digests. A row has all slices of one position. Collectors claim a group of chains at one position, so a row
/// has a whole group as a rule.
///
/// Slices without records are not in it, because no list shows them.
enum ReceiptTable {
    /// Records slices that count from now on.
    static func add(_ slices: [ReceivedSlice], _ stream: StreamName, _ session: PostgresSession) throws(PostgresError) {
        if slices.isEmpty { return }
        // In one order, so that two transactions never wait for each other in a circle.
        let rows = Dictionary(grouping: slices) { Position(day: $0.day, position: $0.position) }
            .sorted { $0.key < $1.key }
        try session.execute(
            """
            INSERT INTO receipt AS r (stream, day, position, slices, newest_receipt)
            SELECT $1, m.* FROM unnest($2, $3, $4, $5) AS m
            ON CONFLICT (stream, day, position) DO UPDATE SET slices = r.slices || excluded.slices,
                newest_receipt = greatest(r.newest_receipt, excluded.newest_receipt)
            """, stream.rawValue, rows.map { Int64($0.key.day.number) }, rows.map(\.key.position),
            rows.map { SliceDigest.data($0.value.map(\.digest)) },
            rows.map { row in row.value.map(\.receivedAt).max() ?? 0 })
    }

    /// Removes slices that are erased.
    static func remove(
        _ slices: [ReceivedSlice], _ stream: StreamName, _ session: PostgresSession
    ) throws(PostgresError) {
        let gone = Dictionary(grouping: slices) { Position(day: $0.day, position: $0.position) }
        let positions = gone.keys.sorted()
        let rows = try session.query(
            """
            SELECT r.day, r.position, r.slices FROM receipt r JOIN unnest($2, $3) AS m(day, position)
                ON r.day = m.day AND r.position = m.position
            WHERE r.stream = $1 ORDER BY r.day, r.position FOR UPDATE OF r
            """, stream.rawValue, positions.map { Int64($0.day.number) }, positions.map(\.position))
        var kept: [(Position, Data)] = []
        for row in rows {
            let position = Position(day: UTCDay(number: try row.int(0)), position: try row.int64(1))
            let digests = Set((gone[position] ?? []).map(\.digest))
            let others = SliceDigest.digests(try row.data(2)).filter { !digests.contains($0) }
            kept.append((position, SliceDigest.data(others)))
        }
        try session.execute(
            """
            UPDATE receipt r SET slices = m.slices FROM unnest($2, $3, $4) AS m(day, position, slices)
            WHERE r.stream = $1 AND r.day = m.day AND r.position = m.position
            """, stream.rawValue, kept.map { Int64($0.0.day.number) }, kept.map(\.0.position), kept.map(\.1))
        try session.execute(
            """
            DELETE FROM receipt r USING unnest($2, $3) AS m(day, position)
            WHERE r.stream = $1 AND r.day = m.day AND r.position = m.position AND length(r.slices) = 0
            """, stream.rawValue, positions.map { Int64($0.day.number) }, positions.map(\.position))
    }

    /// A day's next rows from a position on, that one included.
    /// - Parameters:
    ///   - position: `nil` from the first in the direction.
    ///   - horizon: the last position.
    ///   - since: only rows with a slice received since then, by the collectors' clocks.
    ///   - count: of slices. The row that exceeds it ends the result.
    static func next(
        on day: UTCDay, from position: Int64?, upTo horizon: Int64, isForward: Bool, since: Int64?, count: Int,
        _ stream: StreamName, in session: PostgresSession
    ) throws(StoreError) -> [Receipt] {
        let from = position ?? (isForward ? .min : .max)
        let rows = try StoreError.mapping { () throws(PostgresError) in
            try session.query(
                """
                SELECT position, slices FROM receipt
                WHERE stream = $1 AND day = $2 AND position \(isForward ? ">=" : "<=") $3 AND newest_receipt >= $4
                    AND position <= $6
                ORDER BY position \(isForward ? "" : "DESC") LIMIT $5
                """, stream.rawValue, day.number, from, since ?? .min, min(count, rowsAtMost), horizon)
        }
        var receipts: [Receipt] = []
        var sum = 0
        for row in rows where sum < count {
            let receipt = Receipt(position: try row.signed(0), slices: SliceDigest.digests(try row.bytes(1)))
            receipts.append(receipt)
            sum += receipt.slices.count
        }
        return receipts
    }

    /// A row has the slices of one claim: some kilobytes.
    private static let rowsAtMost = 512

    /// Returns those of some slices of a stream that are not in the table.
    static func missing(
        _ slices: [ReceivedSlice], _ stream: StreamName, in session: PostgresSession
    ) throws(StoreError) -> [ReceivedSlice] {
        let rows = try StoreError.mapping { () throws(PostgresError) in
            try session.query(
                """
                SELECT r.day, r.position, r.slices FROM receipt r JOIN unnest($2, $3) AS m(day, position)
                    ON r.day = m.day AND r.position = m.position
                WHERE r.stream = $1
                """, stream.rawValue, slices.map { Int64($0.day.number) }, slices.map(\.position))
        }
        var there: [Position: Set<UInt64>] = [:]
        for row in rows {
            let position = Position(day: UTCDay(number: try row.number(0)), position: try row.signed(1))
            there[position, default: []].formUnion(SliceDigest.digests(try row.bytes(2)))
        }
        return slices.filter { there[Position(day: $0.day, position: $0.position)]?.contains($0.digest) != true }
    }

    private struct Position: Hashable, Comparable {
        var day: UTCDay
        var position: Int64

        static func < (left: Self, right: Self) -> Bool { (left.day, left.position) < (right.day, right.position) }
    }
}

/// The slices of one position that count.
struct Receipt: Equatable, Sendable {
    var position: Int64
    /// Their digests.
    var slices: [UInt64]
}

/// A slice that counts and has records.
struct ReceivedSlice: Sendable {
    var digest: UInt64
    var day: UTCDay
    var position: Int64
    /// Microseconds since 1970 by the clock of the collector that received it.
    var receivedAt: Int64

    /// - Returns: `nil` for a slice without records.
    init?(_ slice: NewSlice) {
        guard let content = slice.content, content.recordCount > 0 else { return nil }
        digest = SliceDigest.of(SliceID(chain: slice.chain, key: slice.before.number, version: slice.version))
        (day, position, receivedAt) = (slice.day, slice.position, slice.receivedAt)
    }

    /// - Parameter version: if a recovery has written the slice again.
    /// - Returns: `nil` for a slice without records.
    init?(_ head: SliceHead, writtenAgainAs version: SliceVersion? = nil) {
        guard head.recordCount > 0 else { return nil }
        digest = SliceDigest.of(SliceID(chain: head.chain, key: head.key, version: version ?? head.version))
        (day, position, receivedAt) = (head.day, head.position, head.receivedAt)
    }
}

/// 64 bits that stand for one insert's slice: the first of a SHA-256 of 16 zero bytes and the slice's name. A version
/// is never used twice, so the name says which of several attempts is meant.
enum SliceDigest {
    static func of(_ id: SliceID) -> UInt64 {
        var bytes = id.chain.device.data + id.chain.epoch.data
        for number in [id.key, id.version.generation, id.version.attempt] {
            withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
        }
        return ChainLink.zero.appending(bytes).high
    }

    static func data(_ digests: [UInt64]) -> Data {
        var data = Data(capacity: digests.count * 8)
        for digest in digests { withUnsafeBytes(of: digest.bigEndian) { data.append(contentsOf: $0) } }
        return data
    }

    /// Bytes that are no whole digest are left out.
    static func digests(_ data: Data) -> [UInt64] {
        stride(from: 0, to: data.count - data.count % 8, by: 8).map { place in
            data.dropFirst(place).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
        }
    }
}
