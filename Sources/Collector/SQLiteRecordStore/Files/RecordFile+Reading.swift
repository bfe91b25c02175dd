import FoundationEssentials
import RecordStore
import Registry
import SQLite
import WireModel

extension RecordFile {
    struct ChainRow: Sendable {
        var id: Int64
        var key: ChainKey
        /// The mark's number and link as the chain entered this file.
        var entryNumber: UInt64
        var entryLink: ChainLink
        var state: ChainState
        /// The bounds of its records in this file.
        var bounds: RecordBounds
    }

    private static let chainColumns =
        "id, device, epoch, entry_number, entry_link, \(ChainState.columns), earliest, latest, kinds"

    func chain(_ key: ChainKey) throws(StoreError) -> ChainRow? {
        try chains("device = ? AND epoch = ?", key.device.data, key.epoch.data, limit: 1).first
    }

    func chain(id: Int64) throws(StoreError) -> ChainRow? { try chains("id = ?", id, limit: 1).first }

    func chains(of device: DeviceID) throws(StoreError) -> [ChainRow] { try chains("device = ?", device.data) }

    func hasChain(of devices: Set<DeviceID>) throws(StoreError) -> Bool {
        for device in devices where try !chains("device = ?", device.data, limit: 1).isEmpty { return true }
        return false
    }

    /// Returns the chains in the order of their epochs.
    /// - Parameter epoch: those behind it; `nil` from the first.
    func chains(of device: DeviceID, after epoch: EpochID?, limit: Int) throws(StoreError) -> [ChainRow] {
        try chains("device = ? AND epoch > ? ORDER BY epoch", device.data, epoch?.data ?? Data(), limit: limit)
    }

    /// Over all chains, in bounded memory.
    func forEachChain(_ body: (ChainRow) throws(StoreError) -> Void) throws(StoreError) {
        var last: Int64 = 0
        while true {
            let chains = try chains("id > ? ORDER BY id", last, limit: 512)
            guard let newest = chains.last else { return }
            for chain in chains { try body(chain) }
            last = newest.id
        }
    }

    private func chains(
        _ condition: String, _ values: any BindableValue..., limit: Int = .max
    ) throws(StoreError) -> [ChainRow] {
        let sql = "SELECT \(Self.chainColumns) FROM chain WHERE \(condition)"
        let statement = try StoreError.mapping(connection.bound(sql, values))
        defer { statement.reset() }
        var found: [ChainRow] = []
        while found.count < limit, try step(statement) {
            found.append(try chain(statement.row))
        }
        return found
    }

    /// Reads `chainColumns`.
    private func chain(_ row: Row) throws(StoreError) -> ChainRow {
        let entry = try StoreError.mapping { () throws(SQLiteError) in
            (
                id: try row.int64("id"), device: try DeviceID(row.data("device")),
                epoch: try EpochID(row.data("epoch")), number: try row.int64("entry_number"),
                link: try ChainLink(row.data("entry_link"))
            )
        }
        guard let device = entry.device, let epoch = entry.epoch, entry.number >= 0, let link = entry.link else {
            throw corrupt("chain \(entry.id) has ids or a link that are not 16 bytes")
        }
        return ChainRow(
            id: entry.id, key: ChainKey(device: device, epoch: epoch), entryNumber: UInt64(entry.number),
            entryLink: link, state: try ChainState(row, file: path),
            bounds: try StoreError.mapping(RecordBounds(row)))
    }

    /// Finds the keys that the file has for a device, under any of its epochs: one that was numbered before a restore
    /// has another.
    /// - Parameter asked: ranges of keys that are looked for.
    func find(_ asked: [KeyRange], of device: DeviceID, _ found: inout KnownKeys) throws(StoreError) {
        guard try StoreError.mapping(hasKeys()) else { return }
        let chains = try StoreError.mapping(
            connection.rows("SELECT id FROM chain WHERE device = ?", device.data) { $0.int64(0) })
        for chain in chains {
            for range in asked {
                // Ranges of one origin do not overlap, so their ends are in the order of their beginnings.
                let statement = try prepared(
                    "SELECT first, last FROM key WHERE chain = ? AND origin = ? AND first <= ? ORDER BY first DESC",
                    chain, range.origin.data, range.last)
                defer { statement.reset() }
                while try step(statement) {
                    let (first, last) = (statement.int64(0), statement.int64(1))
                    guard first >= 0, last >= first else {
                        throw corrupt("a key of chain \(chain) has impossible numbers")
                    }
                    let stored = KeyRange(origin: range.origin, first: UInt64(first), last: UInt64(last))
                    guard stored.last >= range.first else { break }
                    found.add(stored, asked: range)
                }
            }
        }
    }

    /// The keys' rows whose slice is not in the file. A slice that only says what is lost has no keys.
    private static let strayKeys = """
        FROM key WHERE NOT EXISTS (SELECT 1 FROM slice WHERE slice.id = key.slice AND slice.chain = key.chain
        AND slice.record_count > 0 AND substr(slice.last_link, -\(proofBytes)) = key.proof)
        """

    func strayKeyCount() throws(StoreError) -> Int {
        guard try StoreError.mapping(hasKeys()) else { return 0 }
        return try StoreError.mapping(connection.first("SELECT count(*) \(Self.strayKeys)") { $0.int(0) } ?? 0)
    }

    /// A key without its record would keep the record from being stored when it is sent again.
    func removeStrayKeys() throws(StoreError) {
        guard try StoreError.mapping(hasKeys()) else { return }
        try StoreError.mapping(connection.execute("DELETE \(Self.strayKeys)"))
    }

    /// Records of a chain, counted from the packed rows themselves.
    func countRecords(chain: Int64) throws(StoreError) -> UInt64 {
        let statement = try prepared("SELECT records, first FROM slice WHERE chain = ? ORDER BY first", chain)
        defer { statement.reset() }
        var count: UInt64 = 0
        while try step(statement) {
            guard let records = statement.withBlob(0, { blob.withPacked($0, PackedRecords.count) }) else {
                throw corrupt("the slice from \(statement.int64(1)) of chain \(chain) is not packed records")
            }
            count += UInt64(records)
        }
        return count
    }

    /// A chain's slices, counted in their index.
    func sliceCount(chain: Int64) throws(StoreError) -> Int {
        try StoreError.mapping(
            connection.first("SELECT count(*) FROM slice WHERE chain = ?", chain) { $0.int(0) } ?? 0)
    }

    /// All slices of the file, counted in their index.
    func sliceCount() throws(StoreError) -> Int {
        try StoreError.mapping(connection.first("SELECT count(*) FROM slice") { $0.int(0) } ?? 0)
    }

    /// When the newest slice came; `nil`: there is none. (Slices have their ids in the order of their receipt.)
    func newestReceipt() throws(StoreError) -> Int64? {
        try StoreError.mapping(
            connection.first("SELECT received_at FROM slice ORDER BY id DESC LIMIT 1") { $0.int64(0) })
    }

    /// The newest slice before those that came at a time or later; 0: none. Goes back from the end.
    func lastSlice(before time: Int64) throws(StoreError) -> Int64 {
        if try packedAbove() != nil {
            // Slices that could not be packed have a place of their own, and times before those of the others.
            let first = try StoreError.mapping(
                connection.first("SELECT min(id) FROM slice WHERE received_at >= ?", time) {
                    $0.isNull(0) ? nil : $0.int64(0)
                } ?? nil)
            if let first { return first - 1 }
            return try lastSlice()
        }
        return try StoreError.mapping(
            connection.first("SELECT id FROM slice WHERE received_at < ? ORDER BY id DESC LIMIT 1", time) {
                $0.int64(0)
            } ?? 0)
    }

    static let sliceColumns = """
        id, first, last, lost_before, prior_link, last_link, received_at, record_count, gaps, records
        """

    /// The slice that holds a number, or ends just below it.
    func slice(chain: Int64, holding number: UInt64) throws(StoreError) -> StoredSlice? {
        try slice(of: chain, "first <= ? ORDER BY first DESC", number)
    }

    /// The slice that starts at or above a number: going up from `last + 1` visits all in order.
    func slice(chain: Int64, from number: UInt64) throws(StoreError) -> StoredSlice? {
        try slice(of: chain, "first >= ? ORDER BY first", number)
    }

    /// A slice's records alone, for those who do not ask for its place in the chain.
    /// - Parameter query: whose records are wanted. Others may be returned with them.
    func records(
        ofSlice id: Int64, for query: RecordQuery
    ) throws(StoreError) -> (receivedAt: Int64, records: SliceRecords)? {
        let statement = try prepared("SELECT received_at, records FROM slice WHERE id = ?", id)
        defer { statement.reset() }
        guard try step(statement) else { return nil }
        return (statement.int64(0), blob.records(statement.data(1), for: query))
    }

    /// The chain with this id; `nil` if there is none.
    func key(ofChain id: Int64) throws(StoreError) -> ChainKey? {
        let statement = try prepared("SELECT device, epoch FROM chain WHERE id = ?", id)
        defer { statement.reset() }
        guard try step(statement) else { return nil }
        guard let device = DeviceID(statement.data(0)), let epoch = EpochID(statement.data(1)) else {
            throw corrupt("chain \(id) has ids that are not 16 bytes")
        }
        return ChainKey(device: device, epoch: epoch)
    }

    /// Returns the bounds of all records in the file.
    func bounds() throws(StoreError) -> RecordBounds {
        let statement = try prepared(
            "SELECT min(earliest) AS earliest, max(latest) AS latest, kinds FROM chain GROUP BY kinds")
        defer { statement.reset() }
        var all = RecordBounds.none
        while try step(statement) {
            all.include(try StoreError.mapping(RecordBounds(statement.row)))
        }
        return all
    }

    /// The newest slice with an id of at most `id` that may match by its columns.
    ///
    /// Ids and numbers of a chain grow together, so its index gives them in the order of receipt and no other device's
    /// rows are touched.
    /// - Parameter chain: `nil` for whosever it is.
    /// - Returns: ids of slice and chain.
    func newestSlice(
        chain: Int64?, atMost id: Int64, kindBits: UInt64?, times: RecordTimes
    ) throws(StoreError) -> (id: Int64, chain: Int64)? {
        let kinds = kindBits == nil ? "" : "AND kinds & ?3 != 0"
        let range = times.isAll ? "" : "AND latest >= ?4 AND earliest < ?5 AND record_count > 0"
        return try StoreError.mapping { () throws(SQLiteError) in
            let statement = try connection.cached(
                """
                SELECT id, chain FROM slice WHERE \(chain == nil ? "?1 IS NULL" : "chain = ?1") \
                AND id <= ?2 \(kinds) \(range)
                ORDER BY \(chain == nil ? "id" : "first") DESC LIMIT 1
                """)
            defer { statement.reset() }
            try statement.bind(chain, at: 1)
            try statement.bind(id, at: 2)
            if let kindBits { try statement.bind(kindBits, at: 3) }
            if !times.isAll {
                try statement.bind(times.from ?? .min, at: 4)
                try statement.bind(times.to ?? .max, at: 5)
            }
            return try statement.step() ? (statement.int64(0), statement.int64(1)) : nil
        }
    }

    /// Up to `limit` slices above an id, ascending, that may match by their columns.
    func slices(
        after id: Int64, _ query: RecordQuery, limit: Int
    ) throws(StoreError) -> [(id: Int64, chain: Int64)] {
        var device: DeviceID?
        if case .one(let one) = query.devices { device = one }
        let ofDevice = device == nil ? "?6 IS NULL" : "chain IN (SELECT id FROM chain WHERE device = ?6)"
        return try StoreError.mapping(
            connection.rows(
                """
                SELECT id, chain FROM slice WHERE id > ?1 AND record_count > 0 AND (?2 IS NULL OR kinds & ?2 != 0)
                AND (?3 IS NULL OR latest >= ?3) AND (?4 IS NULL OR earliest < ?4) AND \(ofDevice) ORDER BY id LIMIT ?5
                """, id, query.kindBits, query.times.from, query.times.to, limit, device?.data
            ) { ($0.int64(0), $0.int64(1)) })
    }

    /// The first slice. Resets the statement even if the row is damaged, because an open one would hold its snapshot.
    private func slice(of chain: Int64, _ condition: String, _ number: UInt64) throws(StoreError) -> StoredSlice? {
        let statement = try prepared(
            "SELECT \(Self.sliceColumns) FROM slice WHERE chain = ? AND \(condition) LIMIT 1", chain, number)
        defer { statement.reset() }
        return try step(statement) ? try storedSlice(statement.row, of: chain) : nil
    }

    /// Reads `sliceColumns` and the slice's rejected records.
    func storedSlice(_ row: Row, of chain: Int64) throws(StoreError) -> StoredSlice {
        try timedSlice(row, of: chain).slice
    }

    /// Like `storedSlice`.
    /// - Returns: also the time of receipt of each record; `nil` if all came with the slice.
    func timedSlice(_ row: Row, of chain: Int64) throws(StoreError) -> (slice: StoredSlice, receivedAt: [Int64]?) {
        let place = try StoreError.mapping { () throws(SQLiteError) in
            (
                id: try row.int64("id"), first: try row.int64("first"), last: try row.int64("last"),
                lostBefore: try row.int64("lost_before"), priorLink: try ChainLink(row.data("prior_link")),
                lastLink: try ChainLink(row.data("last_link"))
            )
        }
        let content = try StoreError.mapping { () throws(SQLiteError) in
            (
                receivedAt: try row.int64("received_at"), recordCount: try row.int64("record_count"),
                gaps: try row.data("gaps"), records: blob.records(try row.data("records"))
            )
        }
        guard let prior = place.priorLink, let last = place.lastLink, place.first >= 1, place.last >= place.first,
            place.lostBefore >= 0, content.recordCount >= 0
        else { throw corrupt("slice \(place.id) has impossible numbers or links") }
        var slice = StoredSlice(
            id: place.id, first: UInt64(place.first), last: UInt64(place.last), lostBefore: UInt64(place.lostBefore),
            priorLink: prior, lastLink: last, receivedAt: content.receivedAt,
            recordCount: UInt64(content.recordCount), gaps: [], records: content.records.packed, rejected: [])
        do {
            for gap in try WireBatchPart.decode(content.gaps).gaps { slice.gaps.append(try Gap(gap)) }
        } catch {
            throw corrupt("the gaps of slice \(slice.id) cannot be read: \(error)")
        }
        slice.rejected = try rejected(chain: chain, first: slice.first, last: slice.last)
        return (slice, content.records.receivedAt)
    }

    private func rejected(chain: Int64, first: UInt64, last: UInt64) throws(StoreError) -> [RejectedRecord] {
        let statement = try prepared(
            """
            SELECT number, reason, size, link, bytes FROM rejected WHERE chain = ? AND number BETWEEN ? AND ? \
            ORDER BY number
            """,
            chain, first, last)
        defer { statement.reset() }
        var found: [RejectedRecord] = []
        while try step(statement) {
            let row = statement.row
            let rejected = try StoreError.mapping { () throws(SQLiteError) in
                (
                    number: try row.int64("number"), reason: try row.int("reason"), size: try row.int("size"),
                    link: try ChainLink(row.data("link")), bytes: try row.optionalData("bytes")
                )
            }
            guard let link = rejected.link, rejected.number >= 1 else {
                throw corrupt("a rejected record of chain \(chain) has an impossible number or link")
            }
            found.append(
                RejectedRecord(
                    number: UInt64(rejected.number), reason: RejectReason(rawValue: rejected.reason),
                    size: rejected.size, link: link, bytes: rejected.bytes))
        }
        return found
    }

    /// All slices and rejected records of the file, whosever they are.
    func rowCounts() throws(StoreError) -> (slices: Int, rejected: Int) {
        try StoreError.mapping(
            connection.first("SELECT (SELECT count(*) FROM slice), (SELECT count(*) FROM rejected)") {
                ($0.int(0), $0.int(1))
            } ?? (0, 0))
    }

    func prepared(_ sql: String, _ values: (any BindableValue)?...) throws(StoreError) -> Statement {
        try StoreError.mapping(connection.bound(sql, values))
    }

    func step(_ statement: Statement) throws(StoreError) -> Bool {
        try StoreError.mapping(statement.step())
    }

    func corrupt(_ message: String) -> StoreError {
        StoreError(
            .corrupt,
            """
            \(path): \(message). A running collector repairs a damaged file by itself; `ws1collector verify` names the \
            damage.
            """
        )
    }
}

extension RecordBounds {
    /// Reads `earliest`, `latest` and `kinds`.
    init(_ row: Row) throws(SQLiteError) {
        self.init(
            earliest: try row.int64("earliest"), latest: try row.int64("latest"),
            kinds: UInt64(bitPattern: try row.int64("kinds")))
    }
}
