import CSQLite
import Glibc

extension Connection {
    package enum CheckpointMode: Sendable {
        /// Moves as much as possible without waiting.
        case passive
        /// Moves all, and waits for writers.
        case full
        /// Like `full`, and the next writer starts at the WAL's beginning.
        case restart
        /// Like `restart`, and the WAL is truncated.
        case truncate
    }

    package struct CheckpointResult: Sendable, Equatable {
        package var walFrames: Int
        package var checkpointedFrames: Int
        /// A reader or writer kept it from completing. What was done stays done.
        package var busy: Bool
    }

    /// Moves the WAL's content into the file. Does nothing outside of WAL mode.
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

    /// Whether closing moves the WAL into the file, which is SQLite's default. With `false`, a file that was only
    /// opened to be checked, and found damaged, stays as it was.
    package func setCheckpointOnClose(_ on: Bool) throws(SQLiteError) {
        let database = try handle("set checkpoint on close")
        let result = ws1_sqlite3_set_checkpoint_on_close(database, on ? 1 : 0)
        guard result == SQLITE_OK else {
            throw SQLiteError.of(database, result: result, operation: "set checkpoint on close", path: path)
        }
    }

    /// The faults of the file in SQLite's words; empty if there are none.
    /// - Parameters:
    ///   - quick: do not compare indexes with their tables.
    ///   - limit: the most findings, 1 or more.
    package func integrityCheck(quick: Bool = false, limit: Int = 100) throws(SQLiteError) -> [String] {
        let statement = try prepare("PRAGMA \(quick ? "quick_check" : "integrity_check")(\(max(1, limit)))")
        var findings: [String] = []
        while try statement.step() { findings.append(statement.string(0)) }
        return findings == ["ok"] ? [] : findings
    }

    /// Copies the present content over everything in `destination`.
    /// - Parameters:
    ///   - pagesPerStep: pages read under one lock; 0 or less reads all at once. If another connection changes the file
    ///     between two steps, the copy starts again.
    ///   - betweenSteps: runs after each step. It cannot throw; keep it short.
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
        // Finishing returns the error of the steps, or one of its own.
        let finished = sqlite3_backup_finish(backup)
        guard result == SQLITE_DONE, finished == SQLITE_OK else {
            throw SQLiteError.of(
                target, result: finished == SQLITE_OK ? result : finished, operation: "backup of \(path)",
                path: destination.path)
        }
    }

    /// Copies the content into a new file. The copy is on disk when the call returns.
    /// - Parameter path: a file that does not exist or is empty.
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

/// Allocates disk space through SQLite's own descriptors. Closing another descriptor of the file would release the
/// locks that this process holds on it.
extension Connection {
    package enum File: Sendable {
        case main
        /// The WAL. It exists after the connection's first read or write.
        case wal
    }

    /// Makes the file grow and shrink in multiples of this.
    /// - Parameter bytes: 1 to 2,147,483,647.
    package func setChunkSize(bytes: Int) throws(SQLiteError) {
        var value = Int32(clamping: bytes)
        try control(SQLITE_FCNTL_CHUNK_SIZE, &value, operation: "set chunk size")
        chunkBytes = Int(value)
    }

    /// Allocates the main file to at least this many bytes, rounded up to the chunk size. A complete checkpoint
    /// truncates it to the next multiple of the chunk size above its content, so to keep the space, use an equally
    /// large chunk size.
    /// - Throws: `.full` if there is not enough space.
    package func sizeHint(bytes: Int64) throws(SQLiteError) {
        if chunkBytes == 0 { try setChunkSize(bytes: options.pageSize) }
        try checkSpace(growing: .main, to: bytes, operation: "allocate")
        var value = bytes
        try control(SQLITE_FCNTL_SIZE_HINT, &value, operation: "allocate")
    }

    /// Keeps the WAL when the last connection closes. It also keeps its size if `journalSizeLimitBytes` is -1.
    package func setPersistentWAL(_ persistent: Bool) throws(SQLiteError) {
        var value: Int32 = persistent ? 1 : 0
        try control(SQLITE_FCNTL_PERSIST_WAL, &value, operation: "set persistent WAL")
        var actual: Int32 = -1
        try control(SQLITE_FCNTL_PERSIST_WAL, &actual, operation: "set persistent WAL")
        guard actual == value else {
            throw SQLiteError(
                code: .pragma, message: "persistent WAL on \(path) is \(actual) after it was set to \(value)",
                operation: "set persistent WAL")
        }
    }

    /// Allocates the WAL, so later transactions of that size need no new space: records can still be deleted when the
    /// disk is full. Lasts as long as the WAL; keep it with `setPersistentWAL(true)`.
    /// - Throws: `.full` if there is not enough space, `.misuse` outside of WAL mode.
    package func preallocateWAL(bytes: Int64) throws(SQLiteError) {
        let operation = "allocate WAL"
        guard try pragma("journal_mode") == "wal" else {
            throw .misuse("not in WAL mode", operation: operation, path: path)
        }
        // The first access to the content opens the WAL.
        _ = try pragma("schema_version")
        let (file, methods) = try fileObject(.wal, operation: operation)
        guard let xFileControl = methods.xFileControl else { return }
        try checkSpace(growing: .wal, to: bytes, operation: operation)
        var chunk = Int32(options.pageSize)
        var result = xFileControl(file, SQLITE_FCNTL_CHUNK_SIZE, &chunk)
        var size = bytes
        if result == SQLITE_OK { result = xFileControl(file, SQLITE_FCNTL_SIZE_HINT, &size) }
        guard result == SQLITE_OK else { throw allocationError(result, operation: operation, path: path + "-wal") }
    }

    /// The file's size in bytes; 0 if it does not exist.
    package func fileSize(_ which: File) throws(SQLiteError) -> Int64 {
        let (file, methods) = try fileObject(which, operation: "file size")
        var size: Int64 = 0
        guard let xFileSize = methods.xFileSize else { return 0 }
        let result = xFileSize(file, &size)
        guard result == SQLITE_OK else {
            throw SQLiteError.of(database, result: result, operation: "file size", path: path)
        }
        return size
    }

    /// SQLite allocates by writing until the file system is full, which leaves nothing for anybody else. So a request
    /// that cannot fit is refused beforehand.
    private func checkSpace(growing which: File, to bytes: Int64, operation: String) throws(SQLiteError) {
        let missing = try bytes - fileSize(which)
        var status = statvfs()
        guard missing > 0, statvfs(path, &status) == 0 else { return }
        let available = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
        guard available.overflow || UInt64(missing) <= available.partialValue else {
            throw SQLiteError(
                code: .full, extendedResultCode: SQLITE_FULL,
                message: "\(operation) of \(missing) bytes on \(path): \(available.partialValue) are available. "
                    + SQLiteError.Code.full.remedy,
                operation: operation)
        }
    }

    private func control<Value>(_ code: Int32, _ value: inout Value, operation: String) throws(SQLiteError) {
        let database = try handle(operation)
        let result = withUnsafeMutablePointer(to: &value) { sqlite3_file_control(database, "main", code, $0) }
        guard result == SQLITE_OK else { throw allocationError(result, operation: operation, path: path) }
    }

    /// SQLite reports a failed allocation as a failed write and keeps no system error. The cause is always lack of
    /// space.
    private func allocationError(_ result: Int32, operation: String, path: String) -> SQLiteError {
        let ioErrorWrite: Int32 = 778
        var error = SQLiteError.of(database, result: result, operation: operation, path: path)
        if result == ioErrorWrite {
            error.code = .full
            error.message =
                "\(operation) failed on \(path): the space could not be allocated. \(SQLiteError.Code.full.remedy)"
        }
        return error
    }

    private func fileObject(
        _ which: File, operation: String
    ) throws(SQLiteError) -> (UnsafeMutablePointer<sqlite3_file>, sqlite3_io_methods) {
        let database = try handle(operation)
        var file: UnsafeMutablePointer<sqlite3_file>?
        let code = which == .main ? SQLITE_FCNTL_FILE_POINTER : SQLITE_FCNTL_JOURNAL_POINTER
        let result = withUnsafeMutablePointer(to: &file) { sqlite3_file_control(database, "main", code, $0) }
        guard result == SQLITE_OK, let file, let methods = file.pointee.pMethods else {
            throw .misuse("SQLite has not opened that file", operation: operation, path: path)
        }
        return (file, methods.pointee)
    }
}

extension Connection {
    /// Pages this connection has written since it was opened, in WAL mode into the WAL. Writes of checkpoints are not
    /// counted.
    package var pagesWritten: Int { pages(SQLITE_DBSTATUS_CACHE_WRITE) }

    /// Pages this connection has read from file or WAL since it was opened.
    package var pagesRead: Int { pages(SQLITE_DBSTATUS_CACHE_MISS) }

    private func pages(_ counter: Int32) -> Int {
        var (current, highest): (Int32, Int32) = (0, 0)
        guard let database, sqlite3_db_status(database, counter, &current, &highest, 0) == SQLITE_OK else { return 0 }
        return Int(current)
    }
}
