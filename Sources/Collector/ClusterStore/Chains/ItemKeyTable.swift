import FoundationEssentials
import PostgreSQL
import RecordStore
import WireModel

/// The table `item_key`: the keys of items whose numbers a collector gave (`UnnumberedItems`).
///
/// A claim of a chain reads them, and the transaction that moves its mark writes them. Only one attempt at a chain can
/// move its mark, so no two collectors store the same key. They are found by device, because a chain that was numbered
/// before a restore has another epoch. They go with the day of their slices.
enum ItemKeyTable {
    /// The keys that a claim looks for.
    struct Question: Sendable {
        var device: DeviceID
        var ranges: [KeyRange]
    }

    /// The keys of each device that the table has. Ask it in the transaction of the claim, after the chains are
    /// claimed: then no other claim can add any.
    static func known(
        _ questions: [Question], _ stream: StreamName, _ session: PostgresSession
    ) throws(StoreError) -> [DeviceID: KnownKeys] {
        let asked = questions.flatMap { question in question.ranges.map { (question.device, $0) } }
        if asked.isEmpty { return [:] }
        // Ranges of one origin do not overlap, so at most one of them begins before the asked one and reaches into it.
        let rows = try StoreError.mapping { () throws(PostgresError) in
            try session.query(
                """
                SELECT a.place, k.first, k.last
                FROM unnest($2, $3, $4, $5) WITH ORDINALITY AS a(device, origin, first, last, place),
                LATERAL (
                    (SELECT first, last FROM item_key WHERE stream = $1 AND device = a.device AND origin = a.origin
                        AND first <= a.first ORDER BY first DESC LIMIT 1)
                    UNION ALL
                    SELECT first, last FROM item_key WHERE stream = $1 AND device = a.device AND origin = a.origin
                        AND first > a.first AND first <= a.last
                ) AS k
                WHERE k.last >= a.first
                """, stream.rawValue, asked.map(\.0.data), asked.map(\.1.origin.data), asked.map { Int64($0.1.first) },
                asked.map { Int64($0.1.last) })
        }
        var known: [DeviceID: KnownKeys] = [:]
        for row in rows {
            let (place, first, last) = (try row.number(0) - 1, try row.unsigned(1), try row.unsigned(2))
            guard asked.indices.contains(place), first <= last else {
                throw StoreError(.corrupt, "the table item_key has an impossible range \(first)...\(last).")
            }
            let (device, range) = asked[place]
            known[device, default: .none].add(
                KeyRange(origin: range.origin, first: first, last: last), asked: range)
        }
        return known
    }

    /// The keys of slices that become part of their chains.
    struct Entry: Sendable {
        var device: DeviceID
        var day: UTCDay
        var keys: [KeyRange]
    }

    static func add(_ entries: [Entry], _ stream: StreamName, _ session: PostgresSession) throws(PostgresError) {
        let rows = entries.flatMap { entry in entry.keys.map { (entry.device, entry.day, $0) } }
        if rows.isEmpty { return }
        try session.execute(
            """
            INSERT INTO item_key (stream, device, origin, first, last, day)
            SELECT $1, m.* FROM unnest($2, $3, $4, $5, $6) AS m ON CONFLICT DO NOTHING
            """, stream.rawValue, rows.map(\.0.data), rows.map(\.2.origin.data), rows.map { Int64($0.2.first) },
            rows.map { Int64($0.2.last) }, rows.map { Int64($0.1.number) })
    }

    /// Removes some keys of a day.
    /// - Returns: whether there may be more.
    static func remove(
        _ partition: Partition, atMost count: Int, _ session: PostgresSession
    ) throws(PostgresError) -> Bool {
        try session.execute(
            """
            DELETE FROM item_key WHERE ctid = ANY (ARRAY(
                SELECT ctid FROM item_key WHERE stream = $1 AND day = $2 LIMIT $3))
            """, partition.stream.rawValue, partition.day.number, count) > 0
    }
}

extension ItemKeyTable.Entry {
    init(_ slice: NewSlice) { self.init(device: slice.chain.device, day: slice.day, keys: slice.keys) }
}

extension [KeyRange] {
    /// The column `keys` of a slice: origin, first and last number of each range, 32 bytes.
    var packed: Data {
        var packed = Data(capacity: count * Self.packedBytes)
        for range in self {
            packed.append(range.origin.data)
            for number in [range.first, range.last] {
                Swift.withUnsafeBytes(of: number.bigEndian) { packed.append(contentsOf: $0) }
            }
        }
        return packed
    }

    private static var packedBytes: Int { 32 }

    /// - Throws: `.corrupt` if no collector could have written the bytes.
    init(packed: Data) throws(StoreError) {
        self = []
        guard packed.count.isMultiple(of: Self.packedBytes) else {
            throw StoreError(.corrupt, "the keys of a slice have \(packed.count) bytes.")
        }
        func number(at place: Int) -> UInt64 {
            packed.slice(place..<place + 8).reduce(0) { $0 << 8 | UInt64($1) }
        }
        for place in stride(from: 0, to: packed.count, by: Self.packedBytes) {
            let (first, last) = (number(at: place + 16), number(at: place + 24))
            guard let origin = KeyOrigin(packed.slice(place..<place + 16)), first <= last,
                last <= BatchPart.greatestNumber
            else { throw StoreError(.corrupt, "a key of a slice has impossible numbers.") }
            append(KeyRange(origin: origin, first: first, last: last))
        }
    }
}
