import FoundationEssentials
import SQLite
import TelemetryBasics
import WireModel

/// `<data>/collector.sqlite`: the metadata and the baseline. The one place that knows its schema.
///
/// The metadata service, each stream's writer and read-only commands have connections of their own. SQLite's locks
/// order them. Everything is committed with `synchronous=FULL`.
///
/// A new file is made as version 1 and brought up to the present one by the same steps as an older collector's file, in
/// one transaction.
///
/// What is *derived* here - a device's last seen time, latest beacon and identity - can be rebuilt from records. What
/// is not: ids, organizations, tokens, credentials and the key that proves them, certificates, deleted devices,
/// decisions on do-not-disturb, profiles, assigned applications, commands, jobs over devices, incidents, uploads and
/// their chunks, notices and which of them are muted, the audit trail, the list of record files, and the baseline:
/// marks and counts of removed record files, never cleared.
enum CollectorDatabase {
    static let applicationID: Int32 = 0x5753_3143
    static let version: Int32 = 15

    /// Version 1, as the first release made it. Never changed.
    static let firstSchema = """
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

    /// From version 1 to 2: profiles of applications, the organizations' privacy keys, commands, enrollments that can
    /// be asked for again, what reporting is derived from, and the list of record files. In version 1 only unenrolling
    /// set `device.revoked`.
    private static let secondSchema = """
        ALTER TABLE organization ADD COLUMN privacy_key BLOB;
        ALTER TABLE profile ADD COLUMN application TEXT NOT NULL DEFAULT '';
        ALTER TABLE profile ADD COLUMN author TEXT NOT NULL DEFAULT '';
        CREATE INDEX profile_application ON profile (organization, application, revision);
        ALTER TABLE device ADD COLUMN enrollment_id BLOB NOT NULL DEFAULT x'';
        ALTER TABLE device ADD COLUMN left_at INTEGER;
        UPDATE device SET left_at = revoked, revoked = NULL;
        ALTER TABLE device_state ADD COLUMN last_beacon INTEGER;
        ALTER TABLE device_state ADD COLUMN expected_beacon_seconds INTEGER;
        ALTER TABLE device_state ADD COLUMN push_token TEXT;
        UPDATE device_state SET last_beacon = last_seen WHERE beacon IS NOT NULL;
        CREATE TABLE enrollment_request (
            token_hash BLOB NOT NULL, request BLOB NOT NULL, machine_hash TEXT NOT NULL, device BLOB NOT NULL, at INTEGER NOT NULL,
            PRIMARY KEY (token_hash, request)) WITHOUT ROWID;
        CREATE INDEX enrollment_request_at ON enrollment_request (at);
        CREATE TABLE command (
            id BLOB PRIMARY KEY, device BLOB NOT NULL, enrollment_id BLOB NOT NULL, bytes BLOB NOT NULL, created INTEGER NOT NULL,
            expires INTEGER NOT NULL, issuer TEXT NOT NULL, idempotency_key TEXT, request_hash BLOB NOT NULL,
            state INTEGER NOT NULL DEFAULT 0, progress INTEGER NOT NULL DEFAULT 0, detail TEXT NOT NULL DEFAULT '', result BLOB,
            updated INTEGER);
        CREATE INDEX command_device ON command (device, created, id);
        CREATE UNIQUE INDEX command_idempotency ON command (device, idempotency_key) WHERE idempotency_key IS NOT NULL;
        CREATE TABLE record_file (
            day INTEGER NOT NULL, stream INTEGER NOT NULL, made INTEGER NOT NULL, slices INTEGER NOT NULL DEFAULT 0,
            PRIMARY KEY (day, stream)) WITHOUT ROWID;
        """

    /// From version 2 to 3: uploads of logs, the index of their chunks, the counts for quotas, and notices.
    private static let thirdSchema = """
        CREATE TABLE upload (
            row INTEGER PRIMARY KEY, device BLOB NOT NULL, id BLOB NOT NULL, organization TEXT NOT NULL, application TEXT NOT NULL,
            test INTEGER NOT NULL, log_epoch BLOB NOT NULL, level INTEGER, command BLOB, manifest_hash BLOB NOT NULL,
            begun INTEGER NOT NULL, expires INTEGER NOT NULL, phase INTEGER NOT NULL, ended INTEGER, UNIQUE (device, id));
        CREATE INDEX upload_command ON upload (command) WHERE command IS NOT NULL;
        CREATE INDEX upload_open ON upload (expires) WHERE phase = 1;
        CREATE TABLE chunk (
            row INTEGER PRIMARY KEY, upload INTEGER NOT NULL REFERENCES upload (row) ON DELETE CASCADE, number INTEGER NOT NULL,
            organization TEXT NOT NULL, application TEXT NOT NULL, test INTEGER NOT NULL, device BLOB NOT NULL, log_epoch BLOB NOT NULL,
            type INTEGER NOT NULL, ring INTEGER NOT NULL, file_name TEXT NOT NULL, raw_bytes INTEGER NOT NULL, raw_digest BLOB NOT NULL,
            fate INTEGER NOT NULL, reason INTEGER, received INTEGER, deleted INTEGER, path TEXT, stored_bytes INTEGER, stored_digest BLOB,
            first_number INTEGER, last_number INTEGER, first_time INTEGER, last_time INTEGER, errors INTEGER, warnings INTEGER,
            informations INTEGER, verboses INTEGER, others INTEGER, UNIQUE (upload, number));
        CREATE INDEX chunk_list ON chunk (organization, row) WHERE fate = 2;
        CREATE INDEX chunk_device ON chunk (device, row) WHERE fate = 2;
        CREATE TABLE log_run (
            row INTEGER PRIMARY KEY, chunk INTEGER NOT NULL REFERENCES chunk (row) ON DELETE CASCADE, segment INTEGER NOT NULL,
            first_time INTEGER NOT NULL, last_time INTEGER NOT NULL, errors INTEGER NOT NULL, warnings INTEGER NOT NULL,
            informations INTEGER NOT NULL, verboses INTEGER NOT NULL, pieces BLOB NOT NULL, UNIQUE (chunk, segment));
        CREATE TABLE log_usage (
            organization TEXT NOT NULL, application TEXT NOT NULL, test INTEGER NOT NULL, chunks INTEGER NOT NULL,
            raw_bytes INTEGER NOT NULL, PRIMARY KEY (organization, application, test)) WITHOUT ROWID;
        CREATE TABLE notice (
            id INTEGER PRIMARY KEY AUTOINCREMENT, code TEXT NOT NULL, organization TEXT NOT NULL, subject TEXT NOT NULL,
            detail TEXT NOT NULL, count INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, ended INTEGER);
        CREATE INDEX notice_organization ON notice (organization, id);
        """

    /// From version 3 to 4: the audit trail, what remains of deleted devices, a device's predecessor, and the profile a
    /// device runs.
    private static let fourthSchema = """
        CREATE TABLE audit (
            id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, actor TEXT NOT NULL, token TEXT, role INTEGER,
            organization TEXT NOT NULL, action TEXT NOT NULL, subject TEXT NOT NULL, detail TEXT NOT NULL, outcome TEXT NOT NULL);
        CREATE INDEX audit_organization ON audit (organization, id);
        CREATE TABLE deleted_device (
            id BLOB PRIMARY KEY, organization TEXT NOT NULL, credential_hash BLOB NOT NULL, next_credential_hash BLOB,
            deleted INTEGER NOT NULL) WITHOUT ROWID;
        CREATE INDEX deleted_device_credential ON deleted_device (credential_hash);
        CREATE INDEX deleted_device_next_credential ON deleted_device (next_credential_hash) WHERE next_credential_hash IS NOT NULL;
        ALTER TABLE device ADD COLUMN predecessor BLOB;
        CREATE INDEX device_machine ON device (organization, machine_hash);
        ALTER TABLE device_state ADD COLUMN profile_revision INTEGER;
        """

    /// From version 4 to 5: the client certificates that devices were issued.
    private static let fifthSchema = """
        CREATE TABLE device_certificate (
            row INTEGER PRIMARY KEY, device BLOB NOT NULL, fingerprint BLOB NOT NULL UNIQUE, serial BLOB NOT NULL, issued INTEGER NOT NULL,
            expires INTEGER NOT NULL, used INTEGER);
        CREATE INDEX device_certificate_device ON device_certificate (device, row);
        """

    /// From version 5 to 6: what proves a credential after a restore, the enrollment token of each device, applications
    /// by organization, how many records a notice is about, and what of each notice was handed on.
    private static let sixthSchema = """
        CREATE TABLE former_incarnation (id BLOB PRIMARY KEY, generation INTEGER NOT NULL, ended INTEGER NOT NULL) WITHOUT ROWID;
        INSERT OR IGNORE INTO meta (name, value) VALUES ('\(CredentialLedger.generationName)', 0);
        ALTER TABLE device ADD COLUMN credential_generation INTEGER;
        ALTER TABLE device ADD COLUMN enrollment_token TEXT;
        CREATE INDEX upload_application ON upload (organization, application) WHERE phase = 1;
        ALTER TABLE notice ADD COLUMN amount INTEGER NOT NULL DEFAULT 0;
        UPDATE notice SET amount = CAST(detail AS INTEGER) WHERE code = 'records-lost';
        ALTER TABLE notice ADD COLUMN posted INTEGER NOT NULL DEFAULT 0;
        UPDATE notice SET posted = CASE WHEN ended IS NULL THEN 1 ELSE 2 END
        WHERE id <= (SELECT value FROM meta WHERE name = 'notice_posted');
        CREATE INDEX notice_unposted ON notice (id) WHERE posted < 2;
        """

    /// From version 6 to 7: what devices last reported of compliance and of compromise, and when.
    private static let seventhSchema = """
        ALTER TABLE device_state ADD COLUMN verdicts BLOB;
        ALTER TABLE device_state ADD COLUMN verdicts_at INTEGER;
        """

    /// From version 7 to 8: quotas of applications' logs that differ from the default.
    private static let eighthSchema = """
        CREATE TABLE log_quota (
            organization TEXT NOT NULL, application TEXT NOT NULL, bytes INTEGER NOT NULL, PRIMARY KEY (organization, application)
        ) WITHOUT ROWID;
        """

    /// From version 8 to 9: the newest decision on each device's do-not-disturb, and the request of the device's last
    /// one.
    private static let ninthSchema = """
        ALTER TABLE device ADD COLUMN dnd_revision INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE device ADD COLUMN dnd_on INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE device ADD COLUMN dnd_at INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE device ADD COLUMN dnd_person TEXT;
        ALTER TABLE device ADD COLUMN dnd_request BLOB;
        """

    /// From version 9 to 10: the stored bytes of log text of each device.
    private static let tenthSchema = """
        CREATE TABLE device_log_usage (device BLOB PRIMARY KEY, raw_bytes INTEGER NOT NULL) WITHOUT ROWID;
        INSERT INTO device_log_usage SELECT device, sum(raw_bytes) FROM chunk WHERE fate = 2 GROUP BY device;
        """

    /// From version 10 to 11: when devices made what they last reported of compliance and of compromise, the incidents
    /// that last, and the applications that organizations assign.
    private static let eleventhSchema = """
        ALTER TABLE device_state ADD COLUMN verdicts_wall INTEGER;
        ALTER TABLE device_state ADD COLUMN verdicts_boot BLOB;
        ALTER TABLE device_state ADD COLUMN verdicts_since_boot INTEGER;
        CREATE TABLE incident (
            device BLOB NOT NULL, kind TEXT NOT NULL, began INTEGER NOT NULL, signs TEXT NOT NULL, wipe BLOB,
            PRIMARY KEY (device, kind)) WITHOUT ROWID;
        CREATE TABLE assignment (
            organization TEXT PRIMARY KEY, revision INTEGER NOT NULL, changed INTEGER NOT NULL, list BLOB NOT NULL) WITHOUT ROWID;
        """

    /// From version 11 to 12: people's sessions in the console.
    private static let twelfthSchema = """
        CREATE TABLE session (hash BLOB PRIMARY KEY, token TEXT NOT NULL, created INTEGER NOT NULL, expires INTEGER NOT NULL) WITHOUT ROWID;
        CREATE INDEX session_token ON session (token, created);
        """

    /// From version 12 to 13: actions on many devices, and which of them an audit entry belongs to. Enrollment requests
    /// are found by their device, because many devices may be deleted at a time.
    private static let thirteenthSchema = """
        CREATE TABLE device_job (
            row INTEGER PRIMARY KEY AUTOINCREMENT, id BLOB NOT NULL UNIQUE, organization TEXT, action TEXT NOT NULL,
            flag INTEGER NOT NULL, command BLOB, expires INTEGER, filter TEXT, actor TEXT NOT NULL, token TEXT, role INTEGER,
            created INTEGER NOT NULL, ended INTEGER, ended_because TEXT, state INTEGER NOT NULL, devices INTEGER NOT NULL,
            done INTEGER NOT NULL DEFAULT 0, refused INTEGER NOT NULL DEFAULT 0, position BLOB NOT NULL DEFAULT x'',
            idempotency_key TEXT, request_hash BLOB NOT NULL);
        CREATE INDEX device_job_organization ON device_job (organization, row);
        CREATE INDEX device_job_state ON device_job (state);
        CREATE UNIQUE INDEX device_job_idempotency ON device_job (token, idempotency_key) WHERE idempotency_key IS NOT NULL;
        CREATE TABLE device_job_device (
            job INTEGER NOT NULL, device BLOB NOT NULL, enrolled INTEGER NOT NULL, outcome INTEGER NOT NULL DEFAULT 0, code TEXT,
            detail TEXT, command BLOB, at INTEGER, PRIMARY KEY (job, device)) WITHOUT ROWID;
        ALTER TABLE audit ADD COLUMN job TEXT;
        CREATE INDEX enrollment_request_device ON enrollment_request (device);
        CREATE INDEX device_predecessor ON device (predecessor) WHERE predecessor IS NOT NULL;
        """

    /// From version 13 to 14: notices that somebody has muted, by what they are about.
    private static let fourteenthSchema = """
        CREATE TABLE muted_notice (
            organization TEXT NOT NULL, code TEXT NOT NULL, subject TEXT NOT NULL, actor TEXT NOT NULL, at INTEGER NOT NULL,
            until INTEGER, PRIMARY KEY (organization, code, subject)) WITHOUT ROWID;
        """

    /// From version 14 to 15: the bytes of records that each device stored in a day, and each organization, as the
    /// device without an id.
    private static let fifteenthSchema = """
        CREATE TABLE record_usage (
            day INTEGER NOT NULL, organization TEXT NOT NULL, device BLOB NOT NULL, bytes INTEGER NOT NULL,
            PRIMARY KEY (day, organization, device)) WITHOUT ROWID;
        """

    /// What brings a file from each version to the next; the first makes version 1.
    private static let schemas = [
        firstSchema, secondSchema, thirdSchema, fourthSchema, fifthSchema, sixthSchema, seventhSchema, eighthSchema,
        ninthSchema, tenthSchema, eleventhSchema, twelfthSchema, thirteenthSchema, fourteenthSchema,
        fifteenthSchema,
    ]

    /// Opens for writing. Creates a missing file with its schema, and updates an older one.
    /// - Throws: `.conflict` where record files are there without it: a file made anew beside them would know none
    ///   of their devices and start their marks again. Also if the directory has moved to a cluster.
    static func open(_ directory: DataDirectory) throws(StoreError) -> Connection {
        if let moved = try MovedMarker.read(in: directory) { throw moved.refusal(directory.path) }
        try directory.prepare()
        let partitions = try directory.partitions()
        let isMissing = !Paths.exists(directory.databasePath)
        if isMissing { try refuseAnew(directory, partitions) }
        var options = Connection.Options(mode: .create, applicationID: applicationID)
        options.maximumUserVersion = version
        options.cacheKibibytes = 1024
        let connection: Connection
        let found: Int32
        do throws(SQLiteError) {
            connection = try Connection(path: directory.databasePath, options: options)
            found = try connection.userVersion
        } catch { throw .ofDatabase(error, in: directory) }
        if found < version {
            try connection.transaction(mapping: StoreError.init) { () throws(StoreError) in
                try bringUpToDate(connection, directory, partitions)
            }
        }
        try Files<StoreError>.sync(directory: directory.path)
        return connection
    }

    /// Inside a transaction: another connection may have done it while this one waited for the lock.
    private static func bringUpToDate(
        _ connection: Connection, _ directory: DataDirectory, _ partitions: [Partition]
    ) throws(StoreError) {
        let found = try StoreError.mapping(connection.userVersion)
        // An empty file may replace a lost one, so it is treated as missing.
        if found < 1 { try refuseAnew(directory, partitions) }
        for next in stride(from: max(1, found + 1), through: version, by: 1) {
            try StoreError.mapping { () throws(SQLiteError) in
                try connection.execute(schemas[Int(next) - 1])
                switch next {
                case 2:
                    try giveKeys(connection)
                    for partition in partitions { try RecordFileList(connection).add(partition, at: 0) }
                case 6:
                    try connection.run(
                        "INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", CredentialLedger.keyName,
                        Secret.randomBytes())
                    try noteEnrollmentTokens(connection)
                case 7: try keepVerdicts(connection)
                default: break
                }
                try connection.setUserVersion(next)
            }
        }
    }

    /// The audit trail tells with which token a device enrolled, as far back as it goes.
    private static func noteEnrollmentTokens(_ connection: Connection) throws(SQLiteError) {
        let trail = try connection.prepare(
            """
            SELECT subject, json_extract(detail, '$.enrollmentToken') AS enrolled_with FROM audit
            WHERE action IN ('device-enroll', 'device-reenroll') AND outcome = 'done' AND enrolled_with IS NOT NULL ORDER BY id
            """)
        let update = try connection.cached("UPDATE device SET enrollment_token = ? WHERE id = ?")
        while try trail.step() {
            guard let device = DeviceID(trail.string(0)) else { continue }
            try update.bind(trail.string(1), device.data)
            try update.run()
        }
    }

    /// Takes them from the newest beacon of each device.
    private static func keepVerdicts(_ connection: Connection) throws(SQLiteError) {
        let states = try connection.prepare(
            "SELECT device, beacon, coalesce(last_beacon, last_seen) FROM device_state WHERE beacon IS NOT NULL")
        let update = try connection.cached("UPDATE device_state SET verdicts = ?, verdicts_at = ? WHERE device = ?")
        while try states.step() {
            guard let beacon = try? WireBeacon.decode(states.data(1)),
                let told = DeviceVerdicts(
                    of: beacon, at: states.int64(2),
                    made: RecordStamp(wallTime: .min, bootID: nil, timeSinceBoot: 0))
            else { continue }
            try update.bind(told.beacon.encoded, told.at, states.data(0))
            try update.run()
        }
    }

    /// A key of its own for every organization that has none.
    private static func giveKeys(_ connection: Connection) throws(SQLiteError) {
        let names = try connection.rows("SELECT name FROM organization WHERE privacy_key IS NULL") { $0.string(0) }
        for name in names {
            try connection.run("UPDATE organization SET privacy_key = ? WHERE name = ?", Secret.randomBytes(), name)
        }
    }

    private static func refuseAnew(_ directory: DataDirectory, _ partitions: [Partition]) throws(StoreError) {
        guard let first = partitions.first else { return }
        throw StoreError(
            .conflict,
            "\(directory.databasePath) is missing or empty, but there are records: \(CountText.of(partitions.count, "file")), the first \(first.name). Make "
                + "a data directory from a backup with `ws1collector restore`, or name another. A new collector.sqlite would not know whose "
                + "records these are, and an older one would not know the newer records.")
    }

    /// One of the collector's own values, such as its ids; empty if absent.
    static func meta(_ name: String, _ connection: Connection) throws(StoreError) -> Data {
        try StoreError.mapping(connection.first("SELECT value FROM meta WHERE name = ?", name) { $0.data(0) } ?? Data())
    }

    /// Opens beside a running collector; `nil` if the file does not exist yet.
    static func openReading(_ directory: DataDirectory) throws(StoreError) -> Connection? {
        guard Paths.exists(directory.databasePath) else { return nil }
        var options = Connection.Options(mode: .readOnly, applicationID: applicationID)
        options.maximumUserVersion = version
        do throws(SQLiteError) {
            let connection = try directory.openReading(directory.databasePath, options: options)
            return try connection.userVersion == 0 ? nil : connection
        } catch { throw .ofDatabase(error, in: directory) }
    }

    /// Reads the whole file before a collector serves from it. Otherwise a damaged page would be found by a later
    /// request.
    /// - Throws: `.corrupt` with the remedy.
    static func requireWhole(_ connection: Connection, in directory: DataDirectory) throws(StoreError) {
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
            "\(directory.databasePath) is damaged (\(cause)). It contains tokens, devices' credentials and marks of removed files, which the record "
                + "files do not have. Make a new data directory from the newest backup with `ws1collector restore --data \(directory.path)-restored "
                + "--from BACKUP`, and serve that one. Records that devices sent after the backup then count as lost at the collector."
        )
    }
}
