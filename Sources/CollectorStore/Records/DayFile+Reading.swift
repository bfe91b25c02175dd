import FoundationEssentials
import SQLite
import WireModel

extension DayFile {
    struct ChainRow: Sendable {
        var id: Int64
        var key: ChainKey
        /// The mark's number and link as the chain entered this file.
        var entryNumber: UInt64
        var entryLink: ChainLink
        var state: ChainState
    }

    private static let chainColumns = "id, device, epoch, entry_number, entry_link, \(ChainState.columns)"

    func chain(_ key: ChainKey) throws(StoreError) -> ChainRow? {
        let statement = try prepared("SELECT \(Self.chainColumns) FROM chain WHERE device = ? AND epoch = ?")
        try StoreError.mapping { () throws(SQLiteError) in try statement.bind(key.device.data, key.epoch.data) }
        return try rows(statement, limit: 1).first
    }

    func chains(of device: DeviceID) throws(StoreError) -> [ChainRow] {
        let statement = try prepared("SELECT \(Self.chainColumns) FROM chain WHERE device = ?")
        try StoreError.mapping { () throws(SQLiteError) in try statement.bind(device.data) }
        return try rows(statement, limit: .max)
    }

    /// Up to `limit` chains with ids above `id`, ascending: for those who go over all of them in bounded memory.
    func chains(after id: Int64, limit: Int) throws(StoreError) -> [ChainRow] {
        let statement = try prepared("SELECT \(Self.chainColumns) FROM chain WHERE id > ? ORDER BY id LIMIT ?")
        try StoreError.mapping { () throws(SQLiteError) in try statement.bind(id, limit) }
        return try rows(statement, limit: limit)
    }

    private func rows(_ statement: Statement, limit: Int) throws(StoreError) -> [ChainRow] {
        defer { statement.reset() }
        var found: [ChainRow] = []
        while found.count < limit, try StoreError.mapping({ () throws(SQLiteError) in try statement.step() }) {
            guard let device = DeviceID(statement.data(1)), let epoch = EpochID(statement.data(2)), statement.int64(3) >= 0,
                let link = ChainLink(statement.data(4))
            else { throw corrupt("chain \(statement.int64(0)) has ids or a link that are not 16 bytes") }
            found.append(
                ChainRow(
                    id: statement.int64(0), key: ChainKey(device: device, epoch: epoch), entryNumber: UInt64(statement.int64(3)),
                    entryLink: link, state: try ChainState(statement, from: 5, file: path)))
        }
        return found
    }

    /// Records of a chain, counted from the packed rows themselves.
    func countRecords(chain: Int64) throws(StoreError) -> UInt64 {
        let statement = try prepared("SELECT records, first FROM slice WHERE chain = ? ORDER BY first")
        defer { statement.reset() }
        try StoreError.mapping { () throws(SQLiteError) in try statement.bind(chain) }
        var count: UInt64 = 0
        while try StoreError.mapping({ () throws(SQLiteError) in try statement.step() }) {
            guard let records = statement.withBlob(0, { PackedRecords.count($0) }) else {
                throw corrupt("the slice from \(statement.int64(1)) of chain \(chain) is not packed records")
            }
            count += UInt64(records)
        }
        return count
    }

    private static let sliceColumns = """
        id, first, last, lost_before, prior_link, last_link, received_at, record_count, gaps, records
        """

    /// The slice that holds a number, or ends just below it.
    func slice(chain: Int64, holding number: UInt64) throws(StoreError) -> StoredSlice? {
        let statement = try prepared("SELECT \(Self.sliceColumns) FROM slice WHERE chain = ? AND first <= ? ORDER BY first DESC LIMIT 1")
        try StoreError.mapping { () throws(SQLiteError) in try statement.bind(chain, number) }
        guard let slice = try next(statement, chain: chain) else { return nil }
        statement.reset()
        return slice
    }

    /// The slice that starts at or above a number: going up from `last + 1` visits all in order.
    func slice(chain: Int64, from number: UInt64) throws(StoreError) -> StoredSlice? {
        let statement = try prepared("SELECT \(Self.sliceColumns) FROM slice WHERE chain = ? AND first >= ? ORDER BY first LIMIT 1")
        try StoreError.mapping { () throws(SQLiteError) in try statement.bind(chain, number) }
        let slice = try next(statement, chain: chain)
        statement.reset()
        return slice
    }

    func slice(id: Int64, chain: Int64) throws(StoreError) -> StoredSlice? {
        let statement = try prepared("SELECT \(Self.sliceColumns) FROM slice WHERE id = ?")
        try StoreError.mapping { () throws(SQLiteError) in try statement.bind(id) }
        let slice = try next(statement, chain: chain)
        statement.reset()
        return slice
    }

    /// The id of a chain's newest slice with an id of at most `id` that may hold the kind. Ids and numbers of a chain grow together, so
    /// its index gives them in the order of receipt and no other device's rows are touched.
    func newestSlice(chain: Int64, atMost id: Int64, kindBit: UInt64?) throws(StoreError) -> Int64? {
        let condition = kindBit == nil ? "" : "AND kinds & ? != 0"
        let statement = try prepared("SELECT id FROM slice WHERE chain = ? AND id <= ? \(condition) ORDER BY first DESC LIMIT 1")
        defer { statement.reset() }
        return try StoreError.mapping { () throws(SQLiteError) in
            try statement.bind(chain, at: 1)
            try statement.bind(id, at: 2)
            if let kindBit { try statement.bind(kindBit, at: 3) }
            return try statement.step() ? statement.int64(0) : nil
        }
    }

    private func next(_ statement: Statement, chain: Int64) throws(StoreError) -> StoredSlice? {
        guard try StoreError.mapping({ () throws(SQLiteError) in try statement.step() }) else { return nil }
        guard let prior = ChainLink(statement.data(4)), let last = ChainLink(statement.data(5)), statement.int64(1) >= 1,
            statement.int64(2) >= statement.int64(1), statement.int64(3) >= 0, statement.int64(7) >= 0
        else { throw corrupt("slice \(statement.int64(0)) has numbers or links that cannot be") }
        var slice = StoredSlice(
            id: statement.int64(0), first: UInt64(statement.int64(1)), last: UInt64(statement.int64(2)),
            lostBefore: UInt64(statement.int64(3)), priorLink: prior, lastLink: last, receivedAt: statement.int64(6),
            recordCount: UInt64(statement.int64(7)), gaps: [], records: statement.data(9), rejected: [])
        do {
            for gap in try WireBatchPart.decode(statement.data(8)).gaps { slice.gaps.append(try Gap(gap)) }
        } catch {
            throw corrupt("the gaps of slice \(slice.id) are not readable: \(error)")
        }
        slice.rejected = try rejected(chain: chain, first: slice.first, last: slice.last)
        return slice
    }

    private func rejected(chain: Int64, first: UInt64, last: UInt64) throws(StoreError) -> [RejectedRecord] {
        let statement = try prepared(
            "SELECT number, reason, size, link, bytes FROM rejected WHERE chain = ? AND number BETWEEN ? AND ? ORDER BY number")
        defer { statement.reset() }
        try StoreError.mapping { () throws(SQLiteError) in try statement.bind(chain, first, last) }
        var found: [RejectedRecord] = []
        while try StoreError.mapping({ () throws(SQLiteError) in try statement.step() }) {
            guard let link = ChainLink(statement.data(3)), statement.int64(0) >= 1 else {
                throw corrupt("a rejected record of chain \(chain) has a number or link that cannot be")
            }
            found.append(
                RejectedRecord(
                    number: UInt64(statement.int64(0)), reason: RejectReason(rawValue: statement.int(1)), size: statement.int(2),
                    link: link, bytes: statement.optionalData(4)))
        }
        return found
    }

    /// All slices and rejected records of the file, whosever they are.
    func rowCounts() throws(StoreError) -> (slices: Int, rejected: Int) {
        try StoreError.mapping { () throws(SQLiteError) in
            let statement = try connection.cached("SELECT (SELECT count(*) FROM slice), (SELECT count(*) FROM rejected)")
            defer { statement.reset() }
            return try statement.step() ? (statement.int(0), statement.int(1)) : (0, 0)
        }
    }

    private func prepared(_ sql: String) throws(StoreError) -> Statement {
        try StoreError.mapping { () throws(SQLiteError) in try connection.cached(sql) }
    }

    func corrupt(_ message: String) -> StoreError {
        StoreError(.corrupt, "\(path): \(message). Run `ws1collector verify`; move the file aside to go on without it.")
    }
}
