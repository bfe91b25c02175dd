import CSQLite
import Glibc

extension Connection {
    package enum CheckpointMode: Sendable {
        /// As much as possible without waiting for anybody.
        case passive
        /// All of it, waiting for writers.
        case full
        /// All of it, and the next writer starts at the WAL's beginning.
        case restart
        /// The same, and the WAL is cut to nothing.
        case truncate
    }

    package struct CheckpointResult: Sendable, Equatable {
        package var walFrames: Int
        package var checkpointedFrames: Int
        /// A reader or writer kept it from being complete; what was done stays done.
        package var busy: Bool
    }

    /// Moves the WAL's content into the file. Nothing to do outside WAL mode.
    package func checkpoint(_ mode: CheckpointMode) throws(SQLiteError) -> CheckpointResult {
        let database = try handle("checkpoint")
        let code =
            switch mode {
            case .passive: SQLITE_CHECKPOINT_PASSIVE
            case .full: SQLITE_CHECKPOINT_FULL
            case .restart: SQLITE_CHECKPOINT_RESTART
            case .truncate: SQLITE_CHECKPOINT_TRUNCATE
            }
        var frames: Int32 = 0
        var done: Int32 = 0
        let result = sqlite3_wal_checkpoint_v2(database, "main", code, &frames, &done)
        guard result == SQLITE_OK || result & 0xFF == SQLITE_BUSY else {
            throw SQLiteError.of(database, result: result, operation: "checkpoint", path: path)
        }
        return CheckpointResult(
            walFrames: max(0, Int(frames)), checkpointedFrames: max(0, Int(done)), busy: result & 0xFF == SQLITE_BUSY)
    }

    /// Whether closing moves the WAL into the file, as SQLite does unless told not to. Off, a file that was opened only to be looked at,
    /// and found wrong, stays as it was.
    package func setCheckpointOnClose(_ on: Bool) throws(SQLiteError) {
        let database = try handle("set checkpoint on close")
        let result = ws1_sqlite3_set_checkpoint_on_close(database, on ? 1 : 0)
        guard result == SQLITE_OK else {
            throw SQLiteError.of(database, result: result, operation: "set checkpoint on close", path: path)
        }
    }

    /// What is wrong with the file, as SQLite words it; empty: nothing.
    /// - Parameters:
    ///   - quick: leaves out the comparison of indexes with their tables.
    ///   - limit: the most findings, 1 or more.
    package func integrityCheck(quick: Bool = false, limit: Int = 100) throws(SQLiteError) -> [String] {
        let statement = try prepare("PRAGMA \(quick ? "quick_check" : "integrity_check")(\(max(1, limit)))")
        var findings: [String] = []
        while try statement.step() { findings.append(statement.string(0)) }
        return findings == ["ok"] ? [] : findings
    }

    /// Copies this file's content, as it stands, over all that `destination` holds.
    /// - Parameters:
    ///   - pagesPerStep: how many pages are read under one lock; 0 or less: all at once. A change by another connection
    ///     between two steps starts the copy again.
    ///   - betweenSteps: runs after each step; throwing from elsewhere is not possible, so keep it short.
    package func backup(
        to destination: Connection, pagesPerStep: Int = 1024, betweenSteps: () -> Void = {}
    ) throws(SQLiteError) {
        let target = try destination.handle("backup")
        guard let backup = sqlite3_backup_init(target, "main", try handle("backup"), "main") else {
            throw SQLiteError.of(target, result: sqlite3_errcode(target), operation: "backup", path: destination.path)
        }
        let pages = pagesPerStep <= 0 ? -1 : Int32(clamping: pagesPerStep)
        var result = SQLITE_OK
        while result == SQLITE_OK {
            result = sqlite3_backup_step(backup, pages)
            if result == SQLITE_OK { betweenSteps() }
        }
        // The finish reports the error of the steps, and one of its own.
        let finished = sqlite3_backup_finish(backup)
        guard result == SQLITE_DONE, finished == SQLITE_OK else {
            throw SQLiteError.of(
                target, result: finished == SQLITE_OK ? result : finished, operation: "backup of \(path)", path: destination.path)
        }
    }

    /// Copies this file's content into a new file, on disk when it returns.
    /// - Parameter path: a file that is not there yet, or is empty.
    package func backup(to path: String, pagesPerStep: Int = 1024) throws(SQLiteError) {
        var status = stat()
        guard stat(path, &status) != 0 || status.st_size == 0 else {
            throw SQLiteError(
                code: .cannotOpen, message: "backup to \(path): the file is there already. Name another, or remove it.",
                operation: "backup")
        }
        var options = Options(journalMode: .delete)
        options.fileMode = self.options.fileMode
        let destination = try Connection(path: path, options: options)
        try backup(to: destination, pagesPerStep: pagesPerStep)
        try destination.close()
    }
}
