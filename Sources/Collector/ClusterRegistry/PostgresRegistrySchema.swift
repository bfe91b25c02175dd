import PostgreSQL
import Registry

/// The tables of the registry in PostgreSQL: those of `RegistrySchema`, and some that only several collectors need.
///
/// - `change` and its number in `meta` belong to `ChangeTable`, `housekeeping` to `HousekeepingTurn`, `collector` to
///   `CollectorPresence`. Their times are by the server's clock, microseconds since 1970.
/// - `command_open` is only here because collectors load the open commands more often than at their start.
/// - Of the record store's tables, the list of record files and removed partitions are here as far as the metadata
///   service reads them.
enum PostgresRegistrySchema {
    /// The advisory lock that all programs acquire to make or change these tables.
    private static let lock: Int64 = 0x5753_3152_0000_0001

    static func schema(of registry: RegistrySchema) -> PostgresSchema {
        PostgresSchema(
            tables: RegistrySchema.postgreSQL(registry.tables + "\n" + ownTables),
            steps: registry.steps.map { PostgresStep($0.name, sql: RegistrySchema.postgreSQL($0.sql)) },
            versionTable: "registry_version", lockKey: lock)
    }

    private static let ownTables = """
        CREATE TABLE change (number INTEGER PRIMARY KEY, at INTEGER NOT NULL, kind TEXT NOT NULL, key BLOB NOT NULL);
        CREATE INDEX change_at ON change (at);
        INSERT INTO meta (name, number) VALUES ('\(ChangeTable.numberName)', 0);
        CREATE TABLE housekeeping (
            only_row INTEGER PRIMARY KEY CHECK (only_row = 1), term INTEGER NOT NULL, holder TEXT NOT NULL,
            until INTEGER NOT NULL);
        INSERT INTO housekeeping VALUES (1, 0, '', 0);
        CREATE TABLE collector (run TEXT PRIMARY KEY, name TEXT NOT NULL, seen INTEGER NOT NULL);
        CREATE INDEX command_open ON command (expires) WHERE state NOT IN \(CommandStatus.finalStates);
        """
}
