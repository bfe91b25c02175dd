import DeviceTunables
import FoundationEssentials
import Logging
import SQLite
import WireModel

/// Gives up what is sealed by keys that are gone.
extension QueueStore {
    /// Ends the epoch, if anything in the file needs a key that is gone, and removes such quarantined records. From
    /// then on `dropGivenUp` drops the rows.
    ///
    /// - Returns: the number of removed quarantined records.
    /// - Throws: `.keyUnavailable` if the keys are not at hand; nothing changes then.
    func beginGivingUp() throws -> UInt64 {
        try openLinks()
        let rows = try namedByRows()
        let quarantined = try ids("SELECT DISTINCT key_id FROM quarantine")
        let links = try namedByLinks()
        let gone = try rows.union(quarantined).union(links).filter { try seal.isGone($0) }
        guard !gone.isEmpty else { return 0 }
        var removed: UInt64 = 0
        try change { _ in
            let delete = try connection.cached("DELETE FROM quarantine WHERE key_id = ?")
            for id in gone {
                try delete.bind(id, at: 1)
                try delete.run()
                removed += UInt64(connection.changes)
            }
        }
        // What an earlier call left, perhaps by a kill, belongs to epochs that have ended already.
        let former = state.ended.last { $0.end == .givenUp }?.ordinal ?? ChainCode.past
        let open = try namedByRows(above: former).union(try namedByLinks(above: former))
        if !open.isDisjoint(with: gone) { try endEpoch(.givenUp) }
        logger.warning(
            "what is sealed by keys that are gone is given up", metadata: ["queue.keys": "\(gone.sorted())"])
        return removed
    }

    /// Drops some rows of keys that are gone, from epochs that ended before they were given up.
    /// - Returns: how many; `nil` if there are no further ones, or nobody can say.
    func dropGivenUp() throws -> UInt64? {
        guard let newest = state.ended.last(where: { $0.end == .givenUp })?.ordinal else { return nil }
        for epoch in state.ended where epoch.ordinal <= newest && epoch.phase != .settled {
            for stream in StreamName.allCases where epoch.streams[stream].rowCount > 0 {
                if let dropped = try dropGivenUp(from: .ended(epoch.ordinal, stream)) { return dropped }
            }
        }
        return nil
    }

    private func dropGivenUp(from table: RecordTable) throws -> UInt64? {
        let ledger = state[table]
        let first = max(givenUp[table] ?? 0, ledger.front) + 1
        guard first <= ledger.last else { return nil }
        let rows = try connection.cached(
            "SELECT number, size, key_id FROM \(table.name) WHERE number BETWEEN ? AND ? ORDER BY number LIMIT ?")
        try rows.bind(first, ledger.last, Tunables.Queue.transactionRecords)
        defer { rows.reset() }
        var last = ledger.last
        var removed = RemovedRows()
        var gone: [Int64: Bool] = [:]
        while try rows.step() {
            last = try rows.uint64(0)
            let id = rows.int64(2)
            if gone[id] == nil {
                // Without the keys nobody knows which are gone.
                do throws(QueueError) { gone[id] = try seal.isGone(id) } catch { return nil }
            }
            guard gone[id] == true else { continue }
            removed.count += 1
            removed.bytes += UInt64(max(0, rows.int64(1)))
            if removed.bytes >= UInt64(Tunables.Queue.transactionBytes) { break }
        }
        rows.reset()
        if removed.count > 0 {
            try change { next in
                let delete = try connection.cached(
                    "DELETE FROM \(table.name) WHERE number BETWEEN ? AND ? AND key_id = ?")
                for id in gone.filter(\.value).keys {
                    try delete.bind(first, last, id)
                    try delete.run()
                }
                // In an epoch that is not closed yet they are missing from now on, which is counted as unreadable.
                next[table].lose(removed)
                if !next.isChained(table) { next[table.stream].unnumbered.add(removed.count, .unreadable) }
            }
            checkpointIfDue()
        }
        givenUp[table] = last
        return removed.count
    }

    // MARK: - Named keys

    /// The ids that rows name, 0 not included.
    func namedByRows(above former: Int64 = ChainCode.past) throws -> Set<Int64> {
        var named: Set<Int64> = []
        for table in state.tables {
            if case .ended(let ordinal, _) = table, ordinal <= former { continue }
            named.formUnion(try ids("SELECT DISTINCT key_id FROM \(table.name)"))
        }
        return named
    }

    /// The ids that links of ledgers and gaps name.
    func namedByLinks(above former: Int64 = ChainCode.past) throws -> Set<Int64> {
        let rows = try connection.prepare(
            """
            SELECT last_link FROM ledger WHERE chain >= ?1 UNION ALL SELECT mark_link FROM ledger WHERE chain >= ?1 \
            UNION ALL SELECT link FROM gap WHERE chain >= ?1
            """)
        try rows.bind((former + 1) * 4, at: 1)
        var named: Set<Int64> = []
        while try rows.step() { if let id = QueueSeal.keyID(ofLink: rows.data(0)) { named.insert(Int64(id)) } }
        return named
    }

    private func ids(_ sql: String) throws -> Set<Int64> {
        let rows = try connection.prepare(sql)
        var found: Set<Int64> = []
        while try rows.step() { if rows.int64(0) != 0 { found.insert(rows.int64(0)) } }
        return found
    }

    /// Removes keys that no row, link or kept damaged file names. Reads all rows if there is more than one key.
    func removeUnusedKeys() throws {
        guard seal.ids.count > 1 else { return }
        // Neither a crash nor a lost WAL may bring rows back whose key is gone.
        try settle()
        checkpoint()
        let quarantined = try ids("SELECT DISTINCT key_id FROM quarantine")
        var named = try namedByRows().union(try namedByLinks()).union(quarantined)
        for kept in SalvageFiles(directory: directory).kept {
            named.formUnion(SalvageFiles.namedKeys(of: "\(directory)/\(kept)/\(QueueFile.databaseName)"))
        }
        let removed = try seal.removeUnused(named: Set(named.compactMap { UInt32(exactly: $0) }))
        guard !removed.isEmpty else { return }
        logger.notice("keys that no record names are removed", metadata: ["queue.keys": "\(removed)"])
    }
}

extension SalvageFiles {
    /// The ids that rows of a damaged file name, those on unused pages included.
    static func namedKeys(of database: String) -> Set<Int64> {
        var named: Set<Int64> = []
        var rows = RawRows(
            RawPages(database: database, wal: database + "-wal"), greatestPayload: QueueFile.greatestPayload)
        rows.forEach { _, row in
            // Of the tables of records, and of the quarantine.
            let column: Int? =
                switch row.columns.count {
                case 9: 5
                case 11: 7
                default: nil
                }
            if let column, let id = row.integer(column), id > 0 { named.insert(id) }
            // Of the links of ledger and gap.
            for link in [2, 4, 7] where link < row.columns.count {
                if let id = row.bytes(link).flatMap({ QueueSeal.keyID(ofLink: Data($0)) }) { named.insert(Int64(id)) }
            }
        }
        return named
    }
}
