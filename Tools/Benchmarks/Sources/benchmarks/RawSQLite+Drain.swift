import CSQLite
import Foundation

extension RawSQLite {
    /// Fills a file, then reads and deletes its rows from the front, and says rows a second for that.
    static func drainedPerSecond(rows: Int, perTransaction: Int, directory: String) throws -> Double {
        let work = try WorkDirectory(in: directory)
        var database: OpaquePointer?
        try check(sqlite3_open(work.file("baseline.sqlite"), &database), database)
        defer { sqlite3_close(database) }
        let setUp = """
            PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA secure_delete=0;
            CREATE TABLE rows(number INTEGER PRIMARY KEY, body BLOB NOT NULL);
            WITH RECURSIVE numbers(number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers LIMIT \(rows))
            INSERT INTO rows SELECT number, randomblob(\(rowBytes)) FROM numbers
            """
        try check(sqlite3_exec(database, setUp, nil, nil, nil), database)
        var select: OpaquePointer?
        try check(
            sqlite3_prepare_v2(
                database, "SELECT body FROM rows ORDER BY number LIMIT \(perTransaction)", -1, &select, nil), database)
        defer { sqlite3_finalize(select) }
        var drained = 0
        let seconds = try Stopwatch.seconds {
            while drained < rows {
                var bytes = 0
                var count = 0
                while sqlite3_step(select) == SQLITE_ROW {
                    bytes +=
                        Data(bytes: sqlite3_column_blob(select, 0), count: Int(sqlite3_column_bytes(select, 0))).count
                    count += 1
                }
                sqlite3_reset(select)
                guard count > 0, bytes == count * rowBytes else {
                    throw BenchmarkError("raw SQLite: \(drained) of \(rows) rows are there")
                }
                drained += count
                try check(
                    sqlite3_exec(database, "DELETE FROM rows WHERE number <= \(drained)", nil, nil, nil), database)
            }
        }
        return Double(rows) / seconds
    }
}
