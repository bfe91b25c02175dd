import CSQLite

extension Connection {
    /// Pages this connection has written since it was opened: into the WAL, in WAL mode; a checkpoint's writes are not counted.
    package var pagesWritten: Int {
        guard let database else { return 0 }
        var current: Int32 = 0
        var highest: Int32 = 0
        guard sqlite3_db_status(database, SQLITE_DBSTATUS_CACHE_WRITE, &current, &highest, 0) == SQLITE_OK else { return 0 }
        return Int(current)
    }

    /// Pages this connection has read from file or WAL since it was opened.
    package var pagesRead: Int {
        guard let database else { return 0 }
        var current: Int32 = 0
        var highest: Int32 = 0
        guard sqlite3_db_status(database, SQLITE_DBSTATUS_CACHE_MISS, &current, &highest, 0) == SQLITE_OK else { return 0 }
        return Int(current)
    }
}
