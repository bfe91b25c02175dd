import SQLite

/// `<data>/collector.sqlite`: the registry and the baseline. The one place that knows its schema.
///
/// Several connections of one process use it (the registry, each stream's writer), and read-only commands beside it; SQLite's own locks
/// order them. Everything is committed with `synchronous=FULL`.
///
/// What is *derived* here - a device's last seen time, latest beacon and identity - can be rebuilt from records. What is not: ids,
/// organizations, tokens, credentials, profiles, and the baseline: marks and counts of removed record files, never cleared.
enum CollectorDatabase {
    static let applicationID: Int32 = 0x5753_3143
    static let version: Int32 = 1

    private static let schema = """
        CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
        CREATE TABLE organization (name TEXT PRIMARY KEY, created INTEGER NOT NULL) WITHOUT ROWID;
        CREATE TABLE token (
            id TEXT PRIMARY KEY, hash BLOB NOT NULL UNIQUE, kind INTEGER NOT NULL, name TEXT NOT NULL, role INTEGER, organization TEXT,
            created INTEGER NOT NULL, expires INTEGER, maximum_uses INTEGER, uses INTEGER NOT NULL DEFAULT 0, revoked INTEGER);
        CREATE TABLE device (
            id BLOB PRIMARY KEY, organization TEXT NOT NULL, name TEXT NOT NULL, os_name TEXT NOT NULL, os_distribution TEXT NOT NULL,
            os_version TEXT NOT NULL, os_kernel TEXT NOT NULL, os_architecture TEXT NOT NULL, agent_version TEXT NOT NULL,
            application TEXT NOT NULL, machine_hash TEXT NOT NULL, credential_hash BLOB NOT NULL UNIQUE, next_credential_hash BLOB UNIQUE,
            created INTEGER NOT NULL, enrolled INTEGER NOT NULL, revoked INTEGER, test INTEGER NOT NULL);
        CREATE INDEX device_organization ON device (organization, id);
        CREATE TABLE device_state (
            device BLOB PRIMARY KEY, last_seen INTEGER NOT NULL, beacon BLOB, identity BLOB) WITHOUT ROWID;
        CREATE TABLE profile (
            organization TEXT NOT NULL, revision INTEGER NOT NULL, bytes BLOB NOT NULL, created INTEGER NOT NULL,
            PRIMARY KEY (organization, revision)) WITHOUT ROWID;
        CREATE TABLE baseline (
            device BLOB NOT NULL, epoch BLOB NOT NULL, stream INTEGER NOT NULL, removed_rows INTEGER NOT NULL,
            \(ChainState.columnDefinitions), PRIMARY KEY (device, epoch, stream)) WITHOUT ROWID;
        CREATE TABLE removed_partition (
            day INTEGER NOT NULL, stream INTEGER NOT NULL, removed INTEGER NOT NULL, PRIMARY KEY (day, stream)) WITHOUT ROWID;
        """

    /// Opens to write; makes the file and its schema where they are missing.
    static func open(_ directory: DataDirectory) throws(StoreError) -> Connection {
        try directory.prepare()
        var options = Connection.Options(mode: .create, applicationID: applicationID)
        options.maximumUserVersion = version
        options.cacheKibibytes = 1024
        let connection: Connection
        do {
            connection = try Connection(path: directory.databasePath, options: options)
            if try connection.userVersion == 0 {
                try connection.transaction { () throws(SQLiteError) in
                    // Another connection may have made it while this one waited for the lock.
                    guard try connection.userVersion == 0 else { return }
                    try connection.execute(schema)
                    try connection.setUserVersion(version)
                }
            }
        } catch { throw StoreError(error) }
        try DataDirectory.synchronize(directory.path)
        return connection
    }

    /// Opens beside a running collector; `nil` where there is no such file yet.
    static func openReading(_ directory: DataDirectory) throws(StoreError) -> Connection? {
        guard DataDirectory.exists(directory.databasePath) else { return nil }
        var options = Connection.Options(mode: .readOnly, applicationID: applicationID)
        options.maximumUserVersion = version
        return try StoreError.mapping { () throws(SQLiteError) in
            let connection = try Connection(path: directory.databasePath, options: options)
            return try connection.userVersion == 0 ? nil : connection
        }
    }
}
