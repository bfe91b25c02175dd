import PostgresTestKit

/// A standby that lacks the newest commits takes over.
struct Failover {
    private let bed: ClusterTestBed

    private static let tables = ["store", "chain", "chain_day", "partition", "receipt", "outbox"]

    init(_ bed: ClusterTestBed) { self.bed = bed }

    /// PostgreSQL as of this moment, to go back to.
    func remember() async throws {
        for table in Self.tables {
            _ = try await bed.postgreSQL.sql("CREATE TABLE former_\(table) AS SELECT * FROM \(table)")
        }
    }

    /// All commits since then are lost.
    /// - Parameter isSeen: whether the server shows that it is another one. One that was restored may not.
    func happen(isSeen: Bool = true) async throws {
        for table in Self.tables {
            _ = try await bed.postgreSQL.sql("TRUNCATE \(table)")
            _ = try await bed.postgreSQL.sql("INSERT INTO \(table) SELECT * FROM former_\(table)")
        }
        if isSeen { _ = try await bed.postgreSQL.sql("UPDATE store SET timeline = timeline - 1") }
    }
}
