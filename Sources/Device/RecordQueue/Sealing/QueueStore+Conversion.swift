import DeviceTunables
import Encryption
import FoundationEssentials
import Logging
import SQLite
import WireModel

/// Brings what is stored into the form that new records have: sealed, or plain.
///
/// **The steps**, each a commit of bounded size after which a kill does no harm: rows table by table, the quarantine,
/// the links of ledgers and gaps. Then, if records are sealed now, kept damaged files go, whose readable records were
/// salvaged. The file is rewritten and its WAL cut, so that no free page, no end of a page and no frame holds a former
/// text: `secure_delete` would only clear what this conversion frees, not what was acknowledged before. The marker's
/// slots are written anew, and at last the file's form is stored. Until then the next opening begins again.
extension QueueStore {
    private var target: Conversion.Form { seal.isSealing ? .sealed : .plain }

    /// Looks at the opening whether a conversion is due.
    func noteForm() throws {
        let form = try storedForm()
        conversion.isDue = seal.isConverting && form != target
        // From here on plain records may be added.
        if form == .sealed, target != .sealed {
            try connection.transaction(.immediate, mapping: { $0 as any Error }) { () throws in
                try storeForm(.mixed)
            }
        }
    }

    /// No `CopiedFile` has this id.
    private static let formID = 100

    func storedForm() throws -> Conversion.Form {
        let row = try connection.cached("SELECT content FROM file_copy WHERE id = ?")
        try row.bind(Self.formID, at: 1)
        defer { row.reset() }
        guard try row.step() else { return .plain }
        // A form that nobody knows is looked at again.
        return row.data(0).first.flatMap { Conversion.Form(rawValue: $0) } ?? .mixed
    }

    func storeForm(_ form: Conversion.Form) throws {
        let statement = try connection.cached("INSERT OR REPLACE INTO file_copy VALUES (?, ?, ?)")
        try statement.bind(Self.formID, 0, Data([form.rawValue]))
        try statement.run()
    }

    /// Takes the next step.
    /// - Returns: whether there is another one.
    /// - Throws: `.keyUnavailable`, `.diskFull` and others; the same step can be taken again.
    func convertSome() throws -> Bool {
        guard conversion.isDue else { return false }
        try openLinks()
        if let linkObstacle { throw linkObstacle }
        for table in state.tables where try convertSome(of: table) {
            checkpointIfDue()
            reached(.rows)
            return true
        }
        if try convertQuarantine() {
            reached(.quarantine)
            return true
        }
        // What a key that is gone has sealed stays so, until somebody gives it up.
        guard !conversion.isBlocked else {
            conversion = Conversion()
            return false
        }
        try convertLinks()
        reached(.links)
        try finish()
        return false
    }

    private func finish() throws {
        if seal.isSealing { try SalvageFiles(directory: directory).eraseKept() }
        reached(.keptRemoved)
        try scrub()
        reached(.scrubbed)
        writeMarker(syncing: true, everywhere: true)
        reached(.marker)
        try connection.transaction(.immediate, mapping: { $0 as any Error }) { () throws in try storeForm(target) }
        conversion = Conversion()
        reached(.finished)
        logger.notice("all records of the queue are converted", metadata: ["queue.form": "\(target)"])
    }

    // MARK: - Rows

    private struct Found {
        var row: StoredRow
        var chain: Int64
    }

    /// Rows are deleted and inserted again, so that pages stay full.
    /// - Returns: `false` at the end of the table.
    private func convertSome(of table: RecordTable) throws -> Bool {
        let position = conversion.rows[table] ?? 0
        let statement = try connection.cached(
            "SELECT \(StoredRow.columns), chain FROM \(table.name) WHERE number > ? ORDER BY number LIMIT ?")
        try statement.bind(position, Tunables.Queue.transactionRecords / 4)
        defer { statement.reset() }
        var found: [Found] = []
        var bytes = 0
        var last: UInt64?
        while bytes < Tunables.Queue.transactionBytes / 4, try statement.step() {
            last = try statement.uint64(0)
            guard (statement.int64(3) != 0) != seal.isSealing else { continue }
            let row = Found(row: try StoredRow(statement, of: table.stream), chain: statement.int64(6))
            // An emptied row without a link has nothing to seal.
            guard row.row.keyID != 0 || !row.row.link.isEmpty else { continue }
            found.append(row)
            bytes += row.row.body.count
        }
        statement.reset()
        guard let last else { return false }
        if !found.isEmpty {
            try growForConversion(records: found.count, bytes: bytes)
            try change { _ in for row in found { try convert(row, in: table) } }
        }
        conversion.rows[table] = last
        return true
    }

    private func convert(_ found: Found, in table: RecordTable) throws {
        guard let converted = try converted(found.row) else { return }
        let delete = try connection.cached("DELETE FROM \(table.name) WHERE number = ?")
        try delete.bind(found.row.number, at: 1)
        try delete.run()
        let insert = try connection.cached(
            """
            INSERT INTO \(table.name) (number, kind, wall_time, queue_time, size, key_id, link, body, chain)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        let header = converted.keyID == 0 ? RecordHeader(scanning: converted.body) : nil
        try insert.bind(
            converted.number, header.map { Int64($0.kind) } ?? 0, header?.wallTime ?? 0, converted.queueTime,
            converted.size, converted.keyID, converted.link, converted.body, found.chain)
        try insert.run()
    }

    /// The row in the present form; `nil` if it is damaged, or sealed by a key that is gone.
    private func converted(_ row: StoredRow) throws -> StoredRow? {
        let content: RowContent?
        do throws(QueueError) { content = try seal.open(row) } catch {
            guard try seal.isGone(row.keyID) else { throw error }
            conversion.isBlocked = true
            return nil
        }
        guard let content, let place = row.place, content.bytes.count == place.size else { return nil }
        var converted = row
        guard let key = try seal.sealingKey() else {
            (converted.keyID, converted.link, converted.body) = (0, content.link.data, content.bytes)
            return converted
        }
        (converted.keyID, converted.link) = (Int64(key.id), Data())
        converted.body = try seal.seal(content, at: place, with: key)
        return converted
    }

    /// A sealed row is longer. Space that must stay free on the disk stays free.
    private func growForConversion(records: Int, bytes: Int) throws {
        let pages = RoomPlan.pages(records: records, bytes: records * 32) - RoomPlan.pages(records: records, bytes: 0)
        if case .grow(let target) = try roomPlan().step(needed: pages), diskAllows(pages: target - allocatedPages) {
            try grow(toPages: target)
        }
    }

    // MARK: - Quarantine and links

    private func convertQuarantine() throws -> Bool {
        let statement = try connection.cached(
            "SELECT \(StoredRow.columns), id, stream FROM quarantine WHERE id > ? ORDER BY id LIMIT 8")
        try statement.bind(conversion.quarantine, at: 1)
        defer { statement.reset() }
        var found: [(id: Int64, row: StoredRow)] = []
        var last: Int64?
        while try statement.step() {
            last = statement.int64(6)
            guard (statement.int64(3) != 0) != seal.isSealing, let stream = StreamName(rawValue: statement.int(7))
            else { continue }
            found.append((statement.int64(6), try StoredRow(statement, of: stream)))
        }
        statement.reset()
        guard let last else { return false }
        if !found.isEmpty {
            try change { _ in
                let update = try connection.cached(
                    "UPDATE quarantine SET wall_time = ?, key_id = ?, link = ?, body = ? WHERE id = ?")
                for (id, row) in found {
                    guard let converted = try converted(row) else { continue }
                    let header = converted.keyID == 0 ? RecordHeader(scanning: converted.body) : nil
                    try update.bind(
                        header?.wallTime ?? 0, converted.keyID, converted.link, converted.body, id)
                    try update.run()
                }
            }
        }
        conversion.quarantine = last
        return true
    }

    /// Writes all links again.
    private func convertLinks() throws {
        try change { next in
            let ledger = try connection.cached("UPDATE ledger SET last_link = ?, mark_link = ? WHERE chain = ?")
            let gap = try connection.cached("UPDATE gap SET link = ? WHERE chain = ? AND first = ?")
            for (ordinal, ledgers) in next.chains {
                for stream in StreamName.allCases {
                    let (chain, found) = (ChainCode(ordinal: ordinal, stream: stream), ledgers[stream])
                    try ledger.bind(
                        try seal.stored(found.lastLink, at: found.last, of: chain),
                        try seal.stored(found.mark.link, at: found.mark.number, of: chain), chain.rawValue)
                    try ledger.run()
                    for found in found.gaps {
                        try gap.bind(
                            try seal.stored(found.link, at: found.last, of: chain), chain.rawValue, found.first)
                        try gap.run()
                    }
                }
            }
        }
    }
}
