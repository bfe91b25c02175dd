import ClickHouse
import WireModel

/// The tables in ClickHouse: what is large.
///
///     slice_status, slice_event, slice_sample     one row for each slice, also for those that never became part of
///                                                 their chain; partition: the day of receipt
///     baseline                                    floor of each chain of each dropped day, for recovery
///     generation                                  every generation ever begun, for recovery
///
/// A reader never counts rows as data by themselves. PostgreSQL's marks say which slices count (`SliceTiling`).
enum SliceSchema {
    static func table(of stream: StreamName) -> String { "slice_\(stream)" }

    static let baseline = "baseline"
    static let generation = "generation"

    /// The tables of a database. Its name is part of their paths in ZooKeeper.
    static func tables(in database: String) -> [(name: String, statement: String)] {
        StreamName.allCases.map { (table(of: $0), slices(table(of: $0), in: database)) } + [
            (
                baseline,
                """
                CREATE TABLE IF NOT EXISTS \(place(baseline, database)) (
                    stream UInt8, day Date, device UUID, epoch UUID, generation UInt64, number UInt64, \(state))
                ENGINE = \(engine(baseline, in: database)) ORDER BY (stream, day, device, epoch, generation)
                """
            ),
            (
                generation,
                """
                CREATE TABLE IF NOT EXISTS \(place(generation, database)) (number UInt64, begun_at Int64)
                ENGINE = \(engine(generation, in: database)) ORDER BY number
                """
            ),
        ]
    }

    /// A chain's state, as `ChainColumns` has it. It lets a recovery restore a chain that PostgreSQL has lost.
    private static let state = """
        mark String, totals String, part_last UInt64, above_part String, closed UInt8, closed_last UInt64,
        closed_reason Int64, closed_at Int64
        """

    /// The column with the keys of a slice's items. Tables of earlier versions lack it.
    static let keys = "item_keys"

    /// A slice has about 20 KB, so that a granule of the default 8,192 rows would be far too much to read for one.
    private static func slices(_ table: String, in database: String) -> String {
        """
        CREATE TABLE IF NOT EXISTS \(place(table, database)) (
            day Date, device UUID, epoch UUID, key UInt64, generation UInt64, attempt UInt64, position Int64,
            mark_before String, \(state), first UInt64, last UInt64, lost_before UInt64,
            prior_link FixedString(16), last_link FixedString(16), received_at Int64, earliest Int64, latest Int64,
            kinds UInt64, record_count UInt64, record_bytes UInt64, closing UInt8,
            gap_first Array(UInt64), gap_last Array(UInt64), gap_reason Array(UInt32), gap_link Array(FixedString(16)),
            rejected_number Array(UInt64), rejected_reason Array(UInt32), rejected_size Array(UInt64),
            rejected_link Array(FixedString(16)), rejected_kept Array(UInt8), rejected_bytes Array(String),
            records String, \(keys) String)
        ENGINE = \(engine(table, in: database)) PARTITION BY day ORDER BY (device, epoch, key, generation, attempt)
        SETTINGS index_granularity = 64
        """
    }

    private static func place(_ table: String, _ database: String) -> String {
        "\(ClickHouseSQL.identifier(database)).\(table)"
    }

    private static func engine(_ table: String, in database: String) -> String {
        "ReplicatedMergeTree('/clickhouse/tables/\(database)/\(table)', '{replica}')"
    }
}
