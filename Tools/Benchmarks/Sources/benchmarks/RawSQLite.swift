import CSQLite
import Foundation

/// The baseline of all that is stored: SQLite's own interface in C, one table, WAL with `synchronous=FULL`, nothing
/// else.
struct RawSQLite {
    /// Bytes of one row's blob, those of the samples it is set against.
    static let rowBytes = 200

    /// Inserts `rows` rows into a new file and says rows a second; the file is opened before and removed after that.
    static func rowsPerSecond(rows: Int, perTransaction: Int, directory: String) throws -> Double {
        let work = try WorkDirectory(in: directory)
        var database: OpaquePointer?
        try check(sqlite3_open(work.file("baseline.sqlite"), &database), database)
        defer { sqlite3_close(database) }
        let setUp = """
            PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA secure_delete=0;
            CREATE TABLE rows(number INTEGER PRIMARY KEY, body BLOB NOT NULL)
            """
        try check(sqlite3_exec(database, setUp, nil, nil, nil), database)
        var insert: OpaquePointer?
        try check(sqlite3_prepare_v2(database, "INSERT INTO rows VALUES(?1, ?2)", -1, &insert, nil), database)
        defer { sqlite3_finalize(insert) }
        var generator = SplitMix(state: 1)
        let bodies = (0..<256).map { _ in (0..<rowBytes).map { _ in UInt8.random(in: 0...255, using: &generator) } }

        let seconds = try Stopwatch.seconds {
            var number = 0
            while number < rows {
                try check(sqlite3_exec(database, "BEGIN IMMEDIATE", nil, nil, nil), database)
                for _ in 0..<min(perTransaction, rows - number) {
                    number += 1
                    let result = bodies[number % bodies.count].withUnsafeBytes { body in
                        sqlite3_bind_int64(insert, 1, Int64(number))
                        // Bound without a copy: the bytes outlive the step.
                        sqlite3_bind_blob(insert, 2, body.baseAddress, Int32(body.count), nil)
                        return sqlite3_step(insert)
                    }
                    guard result == SQLITE_DONE else { return try check(result, database) }
                    sqlite3_reset(insert)
                }
                try check(sqlite3_exec(database, "COMMIT", nil, nil, nil), database)
            }
        }
        return Double(rows) / seconds
    }

    static func check(_ result: Int32, _ database: OpaquePointer?) throws {
        guard result == SQLITE_OK else {
            throw BenchmarkError("raw SQLite: \(String(cString: sqlite3_errmsg(database)))")
        }
    }
}
