import CSQLite
import Glibc

/// Space on disk, taken through SQLite's own descriptors: closing a second descriptor of the file would drop the locks that this
/// process holds on it.
extension Connection {
    package enum File: Sendable {
        case main
        /// The WAL, once the connection has read or written anything.
        case wal
    }

    /// The file grows, and is cut, in multiples of this.
    /// - Parameter bytes: 1 to 2,147,483,647.
    package func setChunkSize(bytes: Int) throws(SQLiteError) {
        var value = Int32(clamping: bytes)
        try control(SQLITE_FCNTL_CHUNK_SIZE, &value, operation: "set chunk size")
        chunkBytes = Int(value)
    }

    /// Grows and allocates the main file to at least this many bytes, rounded up to the chunk size. A complete checkpoint cuts
    /// it to the next multiple of the chunk size above its content: what is to stay needs a chunk size as large.
    /// - Throws: `.full` where the space is not there.
    package func sizeHint(bytes: Int64) throws(SQLiteError) {
        if chunkBytes == 0 { try setChunkSize(bytes: options.pageSize) }
        try checkSpace(growing: .main, to: bytes, operation: "allocate")
        var value = bytes
        try control(SQLITE_FCNTL_SIZE_HINT, &value, operation: "allocate")
    }

    /// Keeps the WAL when the last connection closes. With `journalSizeLimitBytes` of -1 it also keeps its size.
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

    /// Grows and allocates the WAL, so that later transactions of that size need no new space: deleting goes on when the disk is
    /// full. Lasts as long as the WAL does: keep it with `setPersistentWAL(true)`.
    /// - Throws: `.full` where the space is not there, `.misuse` outside WAL mode.
    package func preallocateWAL(bytes: Int64) throws(SQLiteError) {
        let operation = "allocate WAL"
        guard try pragma("journal_mode") == "wal" else { throw .misuse("not in WAL mode", operation: operation, path: path) }
        // The WAL is opened by the first access to the content.
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

    /// The file's size in bytes, 0 where there is none.
    package func fileSize(_ which: File) throws(SQLiteError) -> Int64 {
        let (file, methods) = try fileObject(which, operation: "file size")
        var size: Int64 = 0
        guard let xFileSize = methods.xFileSize else { return 0 }
        let result = xFileSize(file, &size)
        guard result == SQLITE_OK else { throw SQLiteError.of(database, result: result, operation: "file size", path: path) }
        return size
    }

    /// SQLite allocates by writing and stops only when the file system is full, with nothing left for anybody: so what cannot
    /// fit is refused before.
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

    /// SQLite calls a failed allocation a failed write and keeps no system error for it; what fails so is space.
    private func allocationError(_ result: Int32, operation: String, path: String) -> SQLiteError {
        let ioErrorWrite: Int32 = 778
        var error = SQLiteError.of(database, result: result, operation: operation, path: path)
        if result == ioErrorWrite {
            error.code = .full
            error.message = "\(operation) failed on \(path): the space could not be allocated. \(SQLiteError.Code.full.remedy)"
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
