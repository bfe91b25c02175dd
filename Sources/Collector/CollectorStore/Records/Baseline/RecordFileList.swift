import SQLite
import WireModel

/// Which record files there are, and what each has at least held when it was last put away: a file that goes, or is
/// emptied, without retention's doing is noticed by this list alone. Rows stay when retention removes a file;
/// `removed_partition` says so then.
///
/// Not `Sendable`: used by whoever owns its connection.
struct RecordFileList {
    struct Entry: Equatable, Sendable {
        var partition: Partition
        /// Slices at least; 0 while its first day goes on.
        var slices: Int
    }

    private let connection: Connection

    init(_ connection: Connection) {
        self.connection = connection
    }

    /// Before the first row of a file is written.
    func add(_ partition: Partition, at time: Int64) throws(SQLiteError) {
        try connection.run(
            "INSERT OR IGNORE INTO record_file (day, stream, made) VALUES (?, ?, ?)", partition.day.number,
            partition.stream.rawValue, time)
    }

    /// When a file is closed in order.
    func note(_ partition: Partition, slices: Int) throws(SQLiteError) {
        try connection.run(
            "UPDATE record_file SET slices = max(slices, ?) WHERE day = ? AND stream = ?", slices, partition.day.number,
            partition.stream.rawValue)
    }

    /// A file was replaced by one that holds less.
    func lower(_ partition: Partition, slices: Int) throws(SQLiteError) {
        try connection.run(
            "UPDATE record_file SET slices = min(slices, ?) WHERE day = ? AND stream = ?", slices, partition.day.number,
            partition.stream.rawValue)
    }

    func contains(_ partition: Partition) throws(SQLiteError) -> Bool {
        try connection.hasRow(
            "SELECT 1 FROM record_file WHERE day = ? AND stream = ?", partition.day.number, partition.stream.rawValue)
    }

    /// What a file held when it was last closed in order; `nil`: it never was.
    func slices(of partition: Partition) throws(SQLiteError) -> Int? {
        try connection.first(
            "SELECT slices FROM record_file WHERE day = ? AND stream = ? AND slices > 0", partition.day.number,
            partition.stream.rawValue
        ) { $0.int(0) }
    }

    /// Ascending; what retention has removed too.
    func entries() throws(SQLiteError) -> [Entry] {
        try connection.rows("SELECT day, stream, slices FROM record_file ORDER BY day, stream") { statement in
            guard let stream = StreamName(rawValue: statement.int(1)) else { return nil }
            return Entry(
                partition: Partition(day: UTCDay(number: statement.int(0)), stream: stream), slices: statement.int(2))
        }
    }
}
