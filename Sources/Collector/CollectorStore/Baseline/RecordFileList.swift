import SQLite
import WireModel

/// Which record files there are, and what each has at least held when it was last put away: a file that goes, or is emptied, without
/// retention's doing is noticed by this list alone. Rows stay when retention removes a file; `removed_partition` says so then.
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
        let statement = try connection.cached("INSERT OR IGNORE INTO record_file (day, stream, made) VALUES (?, ?, ?)")
        try statement.bind(partition.day.number, partition.stream.rawValue, time)
        try statement.run()
    }

    /// When a file is closed in order.
    func note(_ partition: Partition, slices: Int) throws(SQLiteError) {
        let statement = try connection.cached("UPDATE record_file SET slices = max(slices, ?) WHERE day = ? AND stream = ?")
        try statement.bind(slices, partition.day.number, partition.stream.rawValue)
        try statement.run()
    }

    /// A file was replaced by one that holds less.
    func lower(_ partition: Partition, slices: Int) throws(SQLiteError) {
        let statement = try connection.cached("UPDATE record_file SET slices = min(slices, ?) WHERE day = ? AND stream = ?")
        try statement.bind(slices, partition.day.number, partition.stream.rawValue)
        try statement.run()
    }

    func contains(_ partition: Partition) throws(SQLiteError) -> Bool {
        let statement = try connection.cached("SELECT 1 FROM record_file WHERE day = ? AND stream = ?")
        try statement.bind(partition.day.number, partition.stream.rawValue)
        defer { statement.reset() }
        return try statement.step()
    }

    /// What a file held when it was last closed in order; `nil`: it never was.
    func slices(of partition: Partition) throws(SQLiteError) -> Int? {
        let statement = try connection.cached("SELECT slices FROM record_file WHERE day = ? AND stream = ? AND slices > 0")
        try statement.bind(partition.day.number, partition.stream.rawValue)
        defer { statement.reset() }
        return try statement.step() ? statement.int(0) : nil
    }

    /// Ascending; what retention has removed too.
    func entries() throws(SQLiteError) -> [Entry] {
        let statement = try connection.cached("SELECT day, stream, slices FROM record_file ORDER BY day, stream")
        defer { statement.reset() }
        var found: [Entry] = []
        while try statement.step() {
            guard let stream = StreamName(rawValue: statement.int(1)) else { continue }
            found.append(Entry(partition: Partition(day: UTCDay(number: statement.int(0)), stream: stream), slices: statement.int(2)))
        }
        return found
    }
}
