import FoundationEssentials
import RecordStore
import SQLite
import TelemetryBasics

/// `<data>/collector.sqlite`: the metadata and the baseline. The one place that knows its schema.
///
/// The metadata service, each stream's writer and read-only commands have connections of their own. SQLite's locks
/// order them. Everything is committed with `synchronous=FULL`.
///
/// A new file gets the present tables (`RegistrySchema`) at once. An older one gets the missing steps in one
/// transaction.
///
/// What is *derived* here - a device's last seen time, latest beacon and identity - can be rebuilt from records. What
/// is not: ids, organizations, tokens, credentials and the key that proves them, certificates, deleted devices,
/// decisions on do-not-disturb, profiles, assigned applications, commands, jobs over devices, incidents, uploads and
/// their chunks, notices and which of them are muted, the audit trail, the list of record files, and the baseline:
/// marks and counts of removed record files, never cleared.
package enum CollectorDatabase {
    package static let applicationID: Int32 = 0x5753_3143

    /// The tables that only SQLite has: marks and counts of removed record files, for the SQLite engine of the record
    /// store. The columns from `mark` on are a chain's state, as in a record file.
    private static let ownTables = """
        CREATE TABLE baseline (
            device BLOB NOT NULL, epoch BLOB NOT NULL, stream INTEGER NOT NULL, removed_rows INTEGER NOT NULL,
            mark BLOB NOT NULL, totals BLOB NOT NULL, part_last INTEGER NOT NULL, above_part BLOB NOT NULL,
            closed_last INTEGER, closed_reason INTEGER, closed_at INTEGER,
            PRIMARY KEY (device, epoch, stream)) WITHOUT ROWID;
        """

    /// Opens for writing. Creates a missing file with its tables, and brings an older one up to date.
    /// - Parameter schema: other than the present one only in tests.
    /// - Throws: `.conflict` where record files are there without it: a file made anew beside them would know none
    ///   of their devices and start their marks again. Also if the directory has moved to a cluster. `.newerVersion`
    ///   for a file of a newer program.
    package static func open(
        _ directory: DataDirectory, schema: RegistrySchema = .current
    ) throws(StoreError) -> Connection {
        if let moved = try MovedMarker.read(in: directory) { throw moved.refusal(directory.path) }
        try directory.prepare()
        let partitions = try directory.partitions()
        if !Paths.exists(directory.databasePath) { try refuseAnew(directory, partitions) }
        let connection: Connection
        let found: Int
        do throws(SQLiteError) {
            connection = try Connection(path: directory.databasePath, options: options(.create, schema))
            found = Int(try connection.userVersion)
        } catch { throw .ofDatabase(error, in: directory) }
        if found < schema.version {
            try connection.transaction(mapping: StoreError.init) { () throws(StoreError) in
                // An empty file may replace a lost one, so it is treated as missing.
                if found == 0 { try refuseAnew(directory, partitions) }
                try bringUpToDate(connection, to: schema)
            }
        }
        try Files<StoreError>.sync(directory: directory.path)
        return connection
    }

    /// Opens a copy that nobody else knows, and brings it up to date.
    package static func open(copy path: String) throws(StoreError) -> Connection {
        let connection = try StoreError.mapping { () throws(SQLiteError) in
            try Connection(path: path, options: options(.readWrite, .current))
        }
        try connection.transaction(mapping: StoreError.init) { () throws(StoreError) in
            try bringUpToDate(connection, to: .current)
        }
        return connection
    }

    private static func options(_ mode: Connection.Mode, _ schema: RegistrySchema) -> Connection.Options {
        var options = Connection.Options(mode: mode, applicationID: applicationID)
        options.maximumUserVersion = Int32(schema.version)
        options.cacheKibibytes = 1024
        return options
    }

    /// Inside a transaction: another connection may have done it while this one waited for the lock.
    private static func bringUpToDate(_ connection: Connection, to schema: RegistrySchema) throws(StoreError) {
        try StoreError.mapping { () throws(SQLiteError) in
            let found = Int(try connection.userVersion)
            if found == 0 {
                try connection.execute(schema.tables)
                try connection.execute(ownTables)
            } else {
                for step in schema.steps.dropFirst(found - 1) { try connection.execute(step.sql) }
            }
            if found != schema.version { try connection.setUserVersion(Int32(schema.version)) }
        }
    }

    private static func refuseAnew(_ directory: DataDirectory, _ partitions: [Partition]) throws(StoreError) {
        guard let first = partitions.first else { return }
        throw StoreError(
            .conflict,
            """
            \(directory.databasePath) is missing or empty, but there are records: \
            \(CountText.of(partitions.count, "file")), the first \(first.name). Make a data directory from a backup \
            with `ws1collector restore`, or name another. A new collector.sqlite would not know whose records these \
            are, and an older one would not know the newer records.
            """)
    }

    /// One of the collector's own values, such as its ids; empty if absent.
    package static func meta(_ name: String, _ connection: Connection) throws(StoreError) -> Data {
        try StoreError.mapping(connection.first("SELECT value FROM meta WHERE name = ?", name) { $0.data(0) } ?? Data())
    }

    /// Opens beside a running collector; `nil` if the file does not exist yet.
    /// - Throws: `.newerVersion` for a file of a newer program, `.conflict` for one of an older program.
    package static func openReading(
        _ directory: DataDirectory, schema: RegistrySchema = .current
    ) throws(StoreError) -> Connection? {
        guard Paths.exists(directory.databasePath) else { return nil }
        let connection: Connection
        let found: Int
        do throws(SQLiteError) {
            connection = try directory.openReading(directory.databasePath, options: options(.readOnly, schema))
            found = Int(try connection.userVersion)
        } catch { throw .ofDatabase(error, in: directory) }
        if found == 0 { return nil }
        guard found == schema.version else {
            throw StoreError(
                .conflict,
                "\(directory.databasePath) has schema version \(found), and this program reads version "
                    + "\(schema.version). Start `serve` once, which brings the file up to date.")
        }
        return connection
    }

    /// Reads the whole file before a collector serves from it. Otherwise a damaged page would be found by a later
    /// request.
    /// - Throws: `.corrupt` with the remedy.
    package static func requireWhole(_ connection: Connection, in directory: DataDirectory) throws(StoreError) {
        let faults: [String]
        do throws(SQLiteError) { faults = try connection.integrityCheck(quick: true, limit: 3) } catch {
            throw .ofDatabase(error, in: directory)
        }
        if !faults.isEmpty { throw .damagedDatabase(faults.joined(separator: ", "), in: directory) }
    }
}

extension StoreError {
    /// SQLite's error about `collector.sqlite`. If the file is damaged, with the remedy.
    fileprivate static func ofDatabase(_ error: SQLiteError, in directory: DataDirectory) -> StoreError {
        let error = StoreError(error)
        return error.code == .corrupt ? damagedDatabase(error.message, in: directory) : error
    }

    fileprivate static func damagedDatabase(_ cause: String, in directory: DataDirectory) -> StoreError {
        StoreError(
            .corrupt,
            """
            \(directory.databasePath) is damaged (\(cause)). It contains tokens, devices' credentials and marks of \
            removed files, which the record files do not have. Make a new data directory from the newest backup with \
            `ws1collector restore --data \(directory.path)-restored --from BACKUP`, and serve that one. Records that \
            devices sent after the backup then count as lost at the collector.
            """
        )
    }
}
