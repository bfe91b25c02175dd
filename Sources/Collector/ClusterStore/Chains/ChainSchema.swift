import PostgreSQL

/// The tables in PostgreSQL: what must be transactional.
///
///     store       one row: the server that the marks belong to, the generation, whether collectors may work
///     chain       one row for each stream of an epoch: attempt, mark, totals, closure, floor
///     chain_day   one row for each chain and day with slices: the mark at the day's begin and end, and the bounds of
///                 its records
///     partition   one row for each stream and day that ever had a slice: kept, being dropped or dropped
///     receipt     one row for each day and position with slices that count: which they are, for lists
///     outbox      one row for each slice whose records are not in the tables for people yet
///     item_key    one row for the keys of an origin that came in a row: which items are known, by the day of receipt
///     imported    while a data directory moves in: one row for each stream and day, how far its slices are imported
///
/// Marks are the wire's `Mark` message. `Documentation/decisions/cluster-store.md` has the rules.
enum ChainSchema {
    /// Where the versions of these tables are recorded.
    static let versionTable = "record_store_version"

    static let current = PostgresSchema(
        tables: tables, steps: [], versionTable: versionTable, lockKey: StoreLock.schema)

    /// Times are microseconds since 1970. `moving_in` is the collector's id of the directory that moves in, until its
    /// move has ended. An entry of the outbox is not processed before it is `due`.
    private static let tables = """
        CREATE TABLE store (
            only_row BOOLEAN PRIMARY KEY DEFAULT true CHECK (only_row),
            system_identifier BIGINT NOT NULL, timeline BIGINT NOT NULL, generation BIGINT NOT NULL,
            is_open BOOLEAN NOT NULL, moving_in BYTEA, created_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp());
        CREATE TABLE chain (
            stream SMALLINT NOT NULL, device BYTEA NOT NULL, epoch BYTEA NOT NULL,
            attempt BIGINT NOT NULL, number BIGINT NOT NULL, mark BYTEA NOT NULL, totals BYTEA NOT NULL,
            part_last BIGINT NOT NULL, above_part BYTEA NOT NULL,
            closed_last BIGINT, closed_reason BIGINT, closed_at BIGINT,
            floor_number BIGINT NOT NULL, floor BYTEA NOT NULL,
            day INTEGER NOT NULL, position BIGINT NOT NULL,
            PRIMARY KEY (stream, device, epoch)) WITH (fillfactor = 70);
        CREATE TABLE chain_day (
            stream SMALLINT NOT NULL, day INTEGER NOT NULL, device BYTEA NOT NULL, epoch BYTEA NOT NULL,
            begin_number BIGINT NOT NULL, begin_mark BYTEA NOT NULL, end_number BIGINT NOT NULL,
            end_mark BYTEA NOT NULL, earliest BIGINT NOT NULL, latest BIGINT NOT NULL, kinds BIGINT NOT NULL,
            newest_receipt BIGINT NOT NULL,
            PRIMARY KEY (stream, day, device, epoch)) WITH (fillfactor = 70);
        CREATE INDEX chain_day_device ON chain_day (device, stream, day);
        CREATE TABLE partition (
            stream SMALLINT NOT NULL, day INTEGER NOT NULL, state SMALLINT NOT NULL, PRIMARY KEY (stream, day));
        CREATE TABLE outbox (
            stream SMALLINT NOT NULL, device BYTEA NOT NULL, epoch BYTEA NOT NULL, key BIGINT NOT NULL,
            generation BIGINT NOT NULL, attempt BIGINT NOT NULL, day INTEGER NOT NULL, mark BYTEA NOT NULL,
            size BIGINT NOT NULL, at BIGINT NOT NULL, due BIGINT NOT NULL, tries INTEGER NOT NULL,
            PRIMARY KEY (stream, device, epoch, key));
        CREATE INDEX outbox_due ON outbox (stream, due);
        CREATE INDEX outbox_at ON outbox (at);
        CREATE TABLE receipt (
            stream SMALLINT NOT NULL, day INTEGER NOT NULL, position BIGINT NOT NULL, slices BYTEA NOT NULL,
            newest_receipt BIGINT NOT NULL, PRIMARY KEY (stream, day, position));
        CREATE TABLE imported (
            stream SMALLINT NOT NULL, day INTEGER NOT NULL, slice BIGINT NOT NULL, PRIMARY KEY (stream, day));
        CREATE TABLE item_key (
            stream SMALLINT NOT NULL, device BYTEA NOT NULL, origin BYTEA NOT NULL, first BIGINT NOT NULL,
            last BIGINT NOT NULL, day INTEGER NOT NULL, PRIMARY KEY (stream, device, origin, first));
        CREATE INDEX item_key_day ON item_key (stream, day);
        """
}

/// Keys of advisory locks. Other programs that use the same database must not use them.
enum StoreLock {
    /// Shared by every move of a mark; exclusive for who changes the generation or begins to drop a day.
    static let gate: Int64 = 0x7773_315f_0001
    /// Held by the recovery that runs.
    static let recovery: Int64 = 0x7773_315f_0002
    /// Makes or changes the tables, alone.
    static let schema: Int64 = 0x7773_315f_0003
    /// Held by the collector that fills the tables for people.
    static let people: Int64 = 0x7773_315f_0004

    /// Inserts into one table of slices, where the engine refuses two at a time.
    static func insert(into stream: Int) -> Int64 { 0x7773_315f_0100 + Int64(stream) }
}
