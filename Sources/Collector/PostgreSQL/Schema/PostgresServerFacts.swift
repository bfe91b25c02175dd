/// The facts that a collector must know of the server behind a connection before it trusts it with records.
package struct PostgresServerFacts: Sendable, Equatable {
    /// Major version times 10,000 plus minor version: `150014`.
    package var version: Int
    /// Made by initdb; standbys have the primary's.
    package var systemIdentifier: Int64
    /// Raised by each promotion. In recovery it is that of the last checkpoint.
    package var timeline: Int64
    package var isInRecovery: Bool
    package var fsync: String
    /// The setting in this session.
    package var synchronousCommit: String
    package var fullPageWrites: String
    package var synchronousStandbyNames: String
    /// Standbys that stream or catch up. Without the rights of `pg_monitor` all connected WAL receivers count, also a
    /// backup.
    package var connectedStandbys: Int

    /// - Parameter session: in a transaction or not.
    package static func read(_ session: PostgresSession) throws(PostgresError) -> PostgresServerFacts {
        // The timeline comes from the place where WAL is being written. The control file has the old one until the
        // checkpoint after a promotion, and in recovery nothing is written.
        let row = try session.query(
            """
            SELECT current_setting('server_version_num')::int8 AS version,
                (SELECT system_identifier FROM pg_control_system()) AS system_identifier,
                CASE WHEN pg_is_in_recovery() THEN (SELECT timeline_id::int8 FROM pg_control_checkpoint())
                    ELSE ('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::int8 END
                    AS timeline,
                pg_is_in_recovery() AS is_in_recovery, current_setting('fsync') AS fsync,
                current_setting('synchronous_commit') AS synchronous_commit,
                current_setting('full_page_writes') AS full_page_writes,
                current_setting('synchronous_standby_names') AS synchronous_standby_names,
                (SELECT count(*) FROM pg_stat_replication
                    WHERE coalesce(state, 'streaming') IN ('streaming', 'catchup')) AS connected_standbys
            """)[0]
        return PostgresServerFacts(
            version: try row.int("version"), systemIdentifier: try row.int64("system_identifier"),
            timeline: try row.int64("timeline"), isInRecovery: try row.bool("is_in_recovery"),
            fsync: try row.string("fsync"), synchronousCommit: try row.string("synchronous_commit"),
            fullPageWrites: try row.string("full_page_writes"),
            synchronousStandbyNames: try row.string("synchronous_standby_names"),
            connectedStandbys: try row.int("connected_standbys"))
    }
}

/// A setting of the server with which a commit may be lost although it was acknowledged.
package enum PostgresServerFault: String, Sendable, CaseIterable, CustomStringConvertible {
    case fsyncOff
    case fullPageWritesOff
    case synchronousCommitOff
    case synchronousCommitTooWeak
    case standbyNotSynchronous

    /// The text: what is wrong and how to mend it.
    package var description: String {
        switch self {
        case .fsyncOff: "fsync is off: a power cut destroys the database. Set fsync = on."
        case .fullPageWritesOff: "full_page_writes is off: a power cut may tear pages. Set full_page_writes = on."
        case .synchronousCommitOff:
            "synchronous_commit is off: a crash loses acknowledged commits. Set synchronous_commit = on."
        case .synchronousCommitTooWeak:
            "synchronous_commit does not wait for the standby's disk, although a standby exists: a failover loses "
                + "acknowledged commits. Set synchronous_commit = on."
        case .standbyNotSynchronous:
            "A standby is connected, and synchronous_standby_names is empty: a failover loses acknowledged commits. "
                + "Name the standby there."
        }
    }
}

extension PostgresServerFacts {
    /// Why the server must not be trusted; empty if it may.
    package func faults() -> [PostgresServerFault] {
        var faults: [PostgresServerFault] = []
        if fsync != "on" { faults.append(.fsyncOff) }
        if fullPageWrites != "on" { faults.append(.fullPageWritesOff) }
        switch synchronousCommit {
        case "on", "remote_apply": break
        case "local", "remote_write":
            // Without a standby both wait for this server's disk, and nothing more can be waited for.
            if connectedStandbys > 0 || !synchronousStandbyNames.isEmpty { faults.append(.synchronousCommitTooWeak) }
        default: faults.append(.synchronousCommitOff)
        }
        if connectedStandbys > 0, synchronousStandbyNames.isEmpty { faults.append(.standbyNotSynchronous) }
        return faults
    }
}
