import SQLite
import WireModel

/// Migrates a file of versions 1 to 4 to version 5, whose shelf is emptied afterwards (QueueStore+Shelf.swift).
/// Documentation/disk-formats.md lists the changes.
///
/// The migration is one small transaction, whatever waits. The tables of records get a column with a default, which
/// changes no row; the small tables are copied. The rows are counted once.
extension QueueStore {
    /// Reads epoch and last numbers from a file of any version.
    /// - Returns: `nil` if it is not a queue.
    func storedMarker(version: Int32) throws -> EpochMarker? {
        let names = Set(try tables().keys)
        guard names.isSuperset(of: version == 1 ? ["meta", "ledger"] : ["epoch", "ledger"]) else { return nil }
        let head = try connection.prepare(
            version == 1 ? "SELECT 1, epoch FROM meta" : "SELECT ordinal, id FROM epoch WHERE reason IS NULL")
        guard try head.step(), let epoch = EpochID(head.data(1)) else { return nil }
        let ordinal = head.int64(0)
        guard ChainCode.ordinals.contains(ordinal) else { return nil }
        let row = try connection.prepare(
            "SELECT last_number FROM ledger WHERE \(version == 1 ? "stream" : "chain") = ?")
        func last(_ key: Int64) throws -> UInt64 {
            defer { row.reset() }
            try row.bind(key, at: 1)
            return try row.step() ? try row.uint64(0) : 0
        }
        var streams: [StreamName: EpochMarker.Stream] = [:]
        for stream in StreamName.allCases {
            let key = version == 1 ? Int64(stream.rawValue) : ChainCode(ordinal: ordinal, stream: stream).rawValue
            streams[stream] = EpochMarker.Stream(last: try last(key))
            guard (2...QueueFile.shelfVersion).contains(version) else { continue }
            streams[stream]?.shelf.last = try last(ChainCode(ordinal: ChainCode.shelf, stream: stream).rawValue)
        }
        return EpochMarker(epoch: epoch, ordinal: ordinal, streams: streams)
    }

    func migrate(from version: Int32) throws {
        switch version {
        case 1: try migrateFromVersion1()
        case 2: try migrateFromVersion2()
        case 3: try migrateFromVersion3()
        case 4: try migrateFromVersion4()
        default: break
        }
    }

    private func migrateFromVersion1() throws {
        let found = try tables()
        let expected = [
            "status", "event", "sample", "ledger", "tally", "gap", "quarantine", "meta",
        ]
        guard Set(found.keys) == Set(expected) else { throw corrupt("it is not a queue of version 1") }
        try connection.transaction(.immediate, mapping: { $0 as any Error }) { () throws in
            for stream in StreamName.allCases {
                try connection.execute("ALTER TABLE \(stream) ADD COLUMN \(QueueFile.chainColumn(stream))")
            }
            try addFates()
            for table in ["ledger", "tally", "gap", "meta"] {
                try connection.execute("ALTER TABLE \(table) RENAME TO former_\(table)")
            }
            for (name, sql) in QueueFile.tables(ended: []).sorted(by: { $0.key < $1.key })
            where try tables()[name] == nil {
                try connection.execute(sql)
            }
            try copyFromVersion1()
            for table in ["ledger", "tally", "gap", "meta"] { try connection.execute("DROP TABLE former_\(table)") }
            try connection.setUserVersion(QueueFile.schemaVersion)
        }
    }

    private func migrateFromVersion2() throws {
        guard try tables()["quarantine"] != nil else { throw corrupt("table quarantine is missing") }
        try connection.transaction(.immediate, mapping: { $0 as any Error }) { () throws in
            try addFates()
            try addCopies()
            try connection.setUserVersion(QueueFile.shelfVersion)
        }
    }

    private func migrateFromVersion3() throws {
        try connection.transaction(.immediate, mapping: { $0 as any Error }) { () throws in
            try addCopies()
            try connection.setUserVersion(QueueFile.shelfVersion)
        }
    }

    private func migrateFromVersion4() throws {
        guard try tables()["identity"] != nil else { throw corrupt("table identity is missing") }
        // The credential in the former table must not stay on a free page.
        try connection.setPragma("secure_delete", to: 1)
        defer { try? connection.setPragma("secure_delete", to: 0) }
        try connection.transaction(.immediate, mapping: { $0 as any Error }) { () throws in
            let identity = try identityOfVersion4()
            // The new table uses its page, so a full disk does not prevent an update.
            try connection.execute("DROP TABLE identity")
            try addCopies()
            if let identity {
                let statement = try connection.prepare("INSERT INTO file_copy VALUES (?, ?, ?)")
                try statement.bind(CopiedFile.identity.rawValue, identity.sequence, identity.content)
                try statement.run()
            }
            try connection.setUserVersion(QueueFile.shelfVersion)
        }
    }

    private func identityOfVersion4() throws -> QueueState.FileCopy? {
        let row = try connection.prepare("SELECT sequence, content FROM identity WHERE id = 1")
        defer { row.reset() }
        return try row.step() ? QueueState.FileCopy(sequence: row.int64(0), content: row.data(1)) : nil
    }

    private func addFates() throws {
        try connection.execute("ALTER TABLE quarantine ADD COLUMN \(QueueFile.fateColumn)")
    }

    private func addCopies() throws {
        guard try tables()["file_copy"] == nil, let sql = QueueFile.tables(ended: [])["file_copy"] else {
            throw corrupt("it has a table that its version does not have")
        }
        try connection.execute(sql)
    }

    private func copyFromVersion1() throws {
        for stream in StreamName.allCases {
            let raw = stream.rawValue
            try connection.execute(
                """
                INSERT INTO ledger SELECT 4 + stream, last_number, last_link, last_queue_time, (SELECT count(*) FROM \(stream)), bytes,
                mark_number, mark_link, stored, lost_at_collector, NULL, NULL, 0 FROM former_ledger WHERE stream = \(raw);
                INSERT INTO ledger SELECT \(raw), 0, zeroblob(16), 0, 0, 0, 0, zeroblob(16), 0, 0, NULL, NULL, 0;
                """)
        }
        try connection.execute(
            """
            INSERT INTO tally SELECT 4 + stream, account, reason, count FROM former_tally;
            INSERT INTO gap SELECT 4 + stream, first, last, reason, link FROM former_gap;
            INSERT INTO epoch SELECT 1, epoch, NULL, 1, 0, NULL, NULL, 0, 0 FROM former_meta;
            INSERT INTO meta SELECT 1, queue_time, wall_time, boot_id, since_boot, divergence, divergence_stream, divergence_wall_time, collector,
            organization, device, quarantine_queue_time, NULL FROM former_meta;
            """)
    }
}
