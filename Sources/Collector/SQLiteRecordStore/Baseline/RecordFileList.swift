import RecordStore
import Registry
import SQLite
import WireModel

/// Lists the record files, and the least number of slices in each when it was last closed. Only this list shows that
/// somebody other than retention removed or emptied a file. A row stays when retention removes its file;
/// `removed_partition` then has the file.
///
/// Not `Sendable`: the owner of its connection uses it.
struct RecordFileList {
    struct Entry: Equatable, Sendable {
        var partition: Partition
        /// The least number of slices; 0 during its first day.
        var slices: Int
    }

    private let connection: Connection

    init(_ connection: Connection) {
        self.connection = connection
    }

    /// Lists a file before its first row is written.
    func add(_ partition: Partition, at time: Int64) throws(SQLiteError) {
        try connection.run(
            "INSERT OR IGNORE INTO record_file (day, stream, made) VALUES (?, ?, ?)", partition.day.number,
            partition.stream.rawValue, time)
    }

    /// When a file is closed in order.
    func record(_ partition: Partition, slices: Int) throws(SQLiteError) {
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

    /// Returns how many slices a file held when it was last closed in order; `nil`: it never was.
    func slices(of partition: Partition) throws(SQLiteError) -> Int? {
        try connection.first(
            "SELECT slices FROM record_file WHERE day = ? AND stream = ? AND slices > 0", partition.day.number,
            partition.stream.rawValue
        ) { $0.int(0) }
    }

    /// Ascending; what retention has removed too.
    func entries() throws(SQLiteError) -> [Entry] {
        try connection.rows("SELECT day, stream, slices FROM record_file ORDER BY day, stream") { row in
            StreamName(rawValue: row.int(1)).map {
                Entry(partition: Partition(day: UTCDay(number: row.int(0)), stream: $0), slices: row.int(2))
            }
        }
    }
}
