import FoundationEssentials
import SQLite
import WireModel

/// What the writer does inside its transaction.
extension RecordFile {
    /// Adds the chain's row with the state it enters this day with.
    /// - Parameter id: of the row; `nil`: the next one.
    /// - Returns: the row's id.
    func enter(_ key: ChainKey, state: ChainState, id: Int64? = nil) throws(SQLiteError) -> Int64 {
        let statement = try connection.cached(
            """
            INSERT INTO chain (device, epoch, entry_number, entry_link, \(ChainState.columns), earliest, latest, kinds, id)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        try statement.bind(key.device.data, at: 1)
        try statement.bind(key.epoch.data, at: 2)
        try statement.bind(state.mark.number, at: 3)
        try statement.bind(state.mark.link.data, at: 4)
        try state.bind(to: statement, from: 5)
        try Self.bind(RecordBounds.none, to: statement, from: 5 + ChainState.columnCount)
        try statement.bind(id, at: 8 + ChainState.columnCount)
        try statement.run()
        return connection.lastInsertedRow
    }

    /// - Parameter bounds: of the chain's records in this file; `nil` where that is not known.
    func update(chain id: Int64, state: ChainState, bounds: RecordBounds?) throws(SQLiteError) {
        let statement = try connection.cached(
            """
            UPDATE chain SET mark = ?, totals = ?, part_last = ?, above_part = ?, closed_last = ?, closed_reason = ?, closed_at = ?,
                earliest = ?, latest = ?, kinds = ? WHERE id = ?
            """)
        try state.bind(to: statement, from: 1)
        try Self.bind(bounds, to: statement, from: ChainState.columnCount + 1)
        try statement.bind(id, at: ChainState.columnCount + 4)
        try statement.run()
    }

    private static func bind(_ bounds: RecordBounds?, to statement: Statement, from index: Int32) throws(SQLiteError) {
        try statement.bind(bounds?.earliest, at: index)
        try statement.bind(bounds?.latest, at: index + 1)
        try statement.bind(bounds?.kinds, at: index + 2)
    }

    /// Adds a slice and its rejected records.
    /// - Parameter formerMark: the mark's number before the slice.
    /// - Returns: of its records.
    func insert(_ slice: AcceptedSlice, chain: Int64, formerMark: UInt64, receivedAt: Int64) throws(SQLiteError) -> RecordBounds {
        var stored = 0
        var bounds = RecordBounds.none
        for record in slice.records where record.rejection == nil {
            stored += 1
            bounds.include(kind: record.kind, at: record.wallTime)
        }
        let statement = try connection.cached(
            """
            INSERT INTO slice (chain, first, last, lost_before, prior_link, last_link, received_at, earliest, latest, record_count, kinds,
                gaps, records) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        try statement.bind(chain, at: 1)
        try statement.bind(slice.first, at: 2)
        try statement.bind(slice.last, at: 3)
        try statement.bind(slice.first - 1 - formerMark, at: 4)
        try statement.bind(slice.priorLink.data, at: 5)
        try statement.bind(slice.lastLink.data, at: 6)
        try statement.bind(receivedAt, at: 7)
        try statement.bind(stored == 0 ? 0 : bounds.earliest, at: 8)
        try statement.bind(stored == 0 ? 0 : bounds.latest, at: 9)
        try statement.bind(stored, at: 10)
        try statement.bind(bounds.kinds, at: 11)
        try statement.bind(Self.encoded(slice.gaps), at: 12)
        let packed = PackedRecords.pack(slice.records)
        // (Data's closure does not carry typed errors.)
        try packed.withUnsafeBytes { bytes -> Result<Void, SQLiteError> in
            do throws(SQLiteError) { return .success(try statement.run(bindingUncopied: bytes, at: 13)) } catch { return .failure(error) }
        }.get()
        if stored < slice.records.count { try insertRejected(slice, chain: chain) }
        return bounds
    }

    private func insertRejected(_ slice: AcceptedSlice, chain: Int64) throws(SQLiteError) {
        var running = slice.priorLink
        var position = slice.first - 1
        var gaps = slice.gaps[...]
        for record in slice.records {
            while let gap = gaps.first, gap.first == position + 1 {
                gaps.removeFirst()
                (running, position) = (gap.link, gap.last)
            }
            running = running.appending(record.bytes)
            position = record.number
            guard let reason = record.rejection else { continue }
            let kept = record.bytes.count <= RejectedRecord.keptBytes
            let statement = try connection.cached(
                "INSERT INTO rejected (chain, number, reason, size, link, bytes) VALUES (?, ?, ?, ?, ?, ?)")
            try statement.bind(chain, record.number, reason.rawValue, record.bytes.count, running.data, kept ? record.bytes : nil)
            try statement.run()
        }
    }

    static func kindBit(_ kind: Int) -> UInt64 { 1 << UInt64(kind % 63) }

    static func encoded(_ gaps: [Gap]) -> Data {
        guard !gaps.isEmpty else { return Data() }
        var message = WireBatchPart()
        message.gaps = gaps.map(\.wire)
        return message.encoded
    }
}
