import FoundationEssentials
import PostgreSQL
import RecordStore
import WireModel

/// The row of the table `store`.
struct StoreRow: Sendable {
    var generation: UInt64
    var isOpen: Bool
    var systemIdentifier: Int64
    var timeline: Int64
    /// The collector's id of the data directory that moves in; `nil` if none does.
    var movingIn: CollectorID?

    /// Whether the marks belong to a server.
    func isOf(_ facts: PostgresServerFacts) -> Bool {
        systemIdentifier == facts.systemIdentifier && timeline == facts.timeline
    }

    /// - Returns: `nil` before `cluster init`.
    /// - Throws: `.newerVersion` if a newer program has changed the tables since this one started.
    static func find(in session: PostgresSession) throws(StoreError) -> StoreRow? {
        let rows = try StoreError.mapping { () throws(PostgresError) in
            try session.query(
                """
                SELECT generation, is_open, system_identifier, timeline, moving_in,
                    (SELECT max(number) FROM \(ChainSchema.versionTable)) AS version FROM store
                """)
        }
        guard let row = rows.first else { return nil }
        let (isOpen, source, version) = try StoreError.mapping { () throws(PostgresError) in
            (try row.bool("is_open"), try row.optionalData("moving_in"), try row.int("version"))
        }
        let (system, timeline) = try StoreError.mapping { () throws(PostgresError) in
            (try row.int64("system_identifier"), try row.int64("timeline"))
        }
        guard version <= ChainSchema.current.version else {
            throw StoreError(
                .newerVersion,
                "the cluster's tables have version \(version), and this program knows \(ChainSchema.current.version). "
                    + "Update ws1collector.")
        }
        return StoreRow(
            generation: try row.unsigned("generation"), isOpen: isOpen, systemIdentifier: system, timeline: timeline,
            movingIn: source.flatMap { CollectorID($0) })
    }

    /// The row of a store that is open to collectors, or to the move of a data directory.
    ///
    /// Every claim and every move of a mark asks for it. So collectors change nothing while a directory moves in, and a
    /// move that is cut short and forgotten changes nothing later.
    /// - Parameter source: the directory's collector id for its move; `nil` for a collector.
    static func open(in session: PostgresSession, movingIn source: CollectorID? = nil) throws(StoreError) -> StoreRow {
        guard let row = try find(in: session) else {
            throw StoreError(.notFound, "the database has no collector's store. Run `ws1collector cluster init` once.")
        }
        guard row.isOpen else {
            throw StoreError(
                .unavailable,
                "the cluster's store is closed, because its recovery has not ended. Run `ws1collector cluster recover`."
            )
        }
        guard row.movingIn == source else {
            guard let found = row.movingIn else {
                throw StoreError(.conflict, "the move into this cluster has ended, or was never begun.")
            }
            throw StoreError(
                .unavailable,
                "the data directory of collector \(found) is moving into this cluster, and its move has not ended. Run "
                    + "`ws1collector move` with that directory again.")
        }
        return row
    }
}

extension StoreRow {
    /// The check of every new connection: settings that keep what was committed, and the server that the marks belong
    /// to.
    static func check(_ session: PostgresSession) throws(PostgresError) {
        let facts = try PostgresServerFacts.read(session)
        try checkSettings(facts)
        let exists = try session.query("SELECT to_regclass('store') IS NOT NULL").first?.bool(0)
        guard exists == true,
            let row = try session.query("SELECT system_identifier, timeline FROM store").first
        else { return }
        let expected = (try row.int64(0), try row.int64(1))
        guard expected == (facts.systemIdentifier, facts.timeline) else {
            throw PostgresError(
                .unexpectedServer,
                """
                PostgreSQL has failed over: the store belongs to system \(expected.0), timeline \(expected.1), this \
                server is system \(facts.systemIdentifier), timeline \(facts.timeline). Commits may be lost. Run \
                `ws1collector cluster recover`.
                """)
        }
    }

    /// The check of a recovery's connections: any primary whose settings keep what was committed.
    static func checkSettings(_ session: PostgresSession) throws(PostgresError) {
        try checkSettings(try PostgresServerFacts.read(session))
    }

    private static func checkSettings(_ facts: PostgresServerFacts) throws(PostgresError) {
        if let fault = facts.faults().first {
            throw PostgresError(.configuration, "PostgreSQL may lose what it has committed: \(fault).")
        }
        if facts.isInRecovery {
            throw PostgresError(.unexpectedServer, "this server of PostgreSQL is a standby; name the primary.")
        }
    }
}
