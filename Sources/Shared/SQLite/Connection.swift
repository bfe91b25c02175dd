import CSQLite
import Glibc
import TelemetryBasics

/// A connection to one SQLite file: a thin, complete and synchronous layer.
///
/// Not `Sendable`: it is opened without SQLite's own mutexes, so only one thread, queue or actor at a time may use it
/// and its statements. `Options.synchronous` defines what a commit guarantees. The connection closes when it is
/// released. Statements that are still held then stay valid until they are released too.
package final class Connection {
    package let path: String
    package let options: Options

    /// `nil` after closing.
    var database: OpaquePointer?
    private var statements: [String: Statement] = [:]
    /// `SQLITE_FCNTL_CHUNK_SIZE` in bytes; 0 if not set.
    var chunkBytes = 0

    /// The oldest library version that this layer was tested with.
    static let leastLibraryVersion: Int32 = 3_035_000

    /// The version of the library in use, such as `3.46.1`.
    package static var libraryVersion: String { String(cString: sqlite3_libversion()) }

    /// Opens the file and applies the options.
    ///
    /// The last component of the path must not be a symbolic link; directories above may be. A new file gets
    /// `Options.fileMode`, whatever the umask.
    /// - Parameter path: file, or `:memory:`.
    /// - Throws: `.unsupportedVersion` for an old library or a newer file, `.pragma` if a setting had no effect,
    ///   `.busy`, `.corrupt`, `.notADatabase`, `.cannotOpen`, `.full` and others as SQLite reports.
    package init(path: String, options: Options = Options()) throws(SQLiteError) {
        guard sqlite3_libversion_number() >= Connection.leastLibraryVersion else {
            throw SQLiteError(
                code: .unsupportedVersion,
                message:
                    "SQLite library \(Connection.libraryVersion) is older than 3.35.0. Install a newer "
                    + "libsqlite3.",
                operation: "open")
        }
        self.options = options
        let inMemory = path == ":memory:"
        self.path = inMemory ? path : Connection.resolvingDirectory(of: path)
        database = nil

        var flags: Int32 = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        if !inMemory { flags |= SQLITE_OPEN_NOFOLLOW }
        switch options.mode {
        case .create:
            flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
            if !inMemory { try Connection.makeFile(self.path, mode: options.fileMode) }
        case .readWrite: flags |= SQLITE_OPEN_READWRITE
        case .readOnly: flags |= SQLITE_OPEN_READONLY
        }
        var name = self.path
        if options.immutable, options.mode == .readOnly, !inMemory {
            flags |= SQLITE_OPEN_URI
            name = Connection.immutableURI(of: self.path)
        }
        let result = sqlite3_open_v2(name, &database, flags, RepeatedSync.name)
        guard result == SQLITE_OK else {
            throw SQLiteError.of(database, result: result, operation: "open", path: self.path)
        }
        sqlite3_extended_result_codes(database, 1)
        do { try setUp(inMemory: inMemory) } catch {
            // A file that is refused stays as it is, with its WAL.
            ws1_sqlite3_set_checkpoint_on_close(database, 0)
            throw error
        }
    }

    /// Escapes every byte except letters, digits and a few marks.
    private static func immutableURI(of path: String) -> String {
        var uri = "file:"
        for byte in path.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: "-"),
                UInt8(ascii: "_"):
                uri.unicodeScalars.append(Unicode.Scalar(byte))
            default: uri += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
            }
        }
        return uri + "?immutable=1"
    }

    deinit {
        // A statement is finalized when it is released. SQLite keeps the handle until the last one is gone.
        statements.removeAll()
        if let database { sqlite3_close_v2(database) }
    }

    /// Closes now and ends cached statements. Does nothing if already closed.
    /// - Throws: `.busy` while statements from `prepare(_:)` are held; the connection then stays open.
    package func close() throws(SQLiteError) {
        guard let database else { return }
        for statement in statements.values { statement.finalize() }
        statements.removeAll()
        let result = sqlite3_close(database)
        guard result == SQLITE_OK else {
            throw SQLiteError.of(database, result: result, operation: "close", path: path)
        }
        self.database = nil
    }

    /// Runs one or more statements without values and ignores rows. Never put data into the text; bind it.
    package func execute(_ sql: String) throws(SQLiteError) {
        let database = try handle("execute")
        let result = sqlite3_exec(database, sql, nil, nil, nil)
        guard result == SQLITE_OK else {
            throw SQLiteError.of(database, result: result, operation: "execute", path: path)
        }
    }

    /// Prepares a statement for long use by the caller.
    /// - Parameter sql: exactly one statement. More are `.misuse`, because only the first would run.
    package func prepare(_ sql: String) throws(SQLiteError) -> Statement {
        let database = try handle("prepare")
        var sql = sql
        let (result, pointer, rest) = sql.withUTF8 { text -> (Int32, OpaquePointer?, Bool) in
            guard let base = text.baseAddress else { return (SQLITE_OK, nil, false) }
            return base.withMemoryRebound(to: CChar.self, capacity: text.count) { characters in
                var pointer: OpaquePointer?
                var tail: UnsafePointer<CChar>?
                let result = sqlite3_prepare_v3(
                    database, characters, Int32(clamping: text.count), UInt32(SQLITE_PREPARE_PERSISTENT), &pointer,
                    &tail)
                let used = tail.map { $0 - characters } ?? text.count
                return (result, pointer, text[used...].contains { ![9, 10, 13, 32, 59].contains($0) })
            }
        }
        guard result == SQLITE_OK else {
            throw SQLiteError.of(
                database, result: result, operation: "prepare \(Statement.abbreviated(sql))", path: path)
        }
        guard let pointer, !rest else {
            sqlite3_finalize(pointer)
            throw .misuse(
                "exactly one statement is expected", operation: "prepare \(Statement.abbreviated(sql))", path: path)
        }
        return Statement(pointer, path: path)
    }

    /// The statement for this text from the connection's cache, reset and without values. The same text gives the same
    /// statement, so a loop over its rows must have ended before.
    package func cached(_ sql: String) throws(SQLiteError) -> Statement {
        if let statement = statements[sql] {
            statement.reset()
            statement.clearBindings()
            return statement
        }
        let statement = try prepare(sql)
        // Texts are constants of the program. A full cache means that they are not, and then starting again is as good
        // as any order of eviction.
        if statements.count >= options.statementCacheCapacity { statements.removeAll() }
        statements[sql] = statement
        return statement
    }

    /// The number of rows that the last INSERT, UPDATE or DELETE changed.
    package var changes: Int { database.map { Int(sqlite3_changes($0)) } ?? 0 }
    package var lastInsertedRow: Int64 { database.map { sqlite3_last_insert_rowid($0) } ?? 0 }
    package var isInTransaction: Bool { database.map { sqlite3_get_autocommit($0) == 0 } ?? false }
    /// Whether the file can only be read, whatever the options say.
    package var isReadOnly: Bool { database.map { sqlite3_db_readonly($0, "main") == 1 } ?? true }

    /// Makes the running statement end with `.interrupted`. Only this call may come from another thread, while the
    /// connection is open.
    package func interrupt() {
        if let database { sqlite3_interrupt(database) }
    }

    func handle(_ operation: String) throws(SQLiteError) -> OpaquePointer {
        guard let database else { throw .misuse("the connection is closed", operation: operation, path: path) }
        return database
    }

    /// SQLite refuses a link anywhere in the path, but only a link in place of the file is a danger. So the directories
    /// are resolved first.
    private static func resolvingDirectory(of path: String) -> String {
        let slash = path.lastIndex(of: "/")
        let directory = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        guard let resolved = realpath(directory, nil) else { return path }
        defer { free(resolved) }
        let name = slash.map { path[path.index(after: $0)...] } ?? path[...]
        let base = String(cString: resolved)
        return base == "/" ? "/\(name)" : "\(base)/\(name)"
    }

    /// Makes an empty file, so its mode does not depend on the umask. SQLite treats it as an empty database.
    private static func makeFile(_ path: String, mode: UInt32) throws(SQLiteError) {
        let descriptor = retryingOnInterrupt {
            open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)
        }
        guard descriptor >= 0 else {
            let systemError = errno
            // It exists already. SQLite will report if anything is wrong with it.
            if systemError == EEXIST { return }
            let code = SQLiteError.Code(result: SQLITE_CANTOPEN, systemError: systemError)
            throw SQLiteError(
                code: code, extendedResultCode: SQLITE_CANTOPEN,
                message: "open failed on \(path): \(String(cString: strerror(systemError))). \(code.remedy)",
                operation: "open")
        }
        // Nobody else can have it open yet, so closing it releases no lock of this process.
        fchmod(descriptor, mode)
        Glibc.close(descriptor)
    }
}

extension Connection {
    package enum TransactionKind: String, Sendable {
        /// Locks at first use. Upgrading from reading to writing may fail with `.busy`; then run it again.
        case deferred = "BEGIN DEFERRED"
        /// Acquires the writer's lock at once. The busy timeout applies here and nowhere later.
        case immediate = "BEGIN IMMEDIATE"
        case exclusive = "BEGIN EXCLUSIVE"
    }

    package func begin(_ kind: TransactionKind = .immediate) throws(SQLiteError) {
        try cached(kind.rawValue).run()
    }

    /// Returns when the transaction is on disk as `Options.synchronous` defines. If it fails, nothing of the
    /// transaction remains.
    package func commit() throws(SQLiteError) {
        guard isInTransaction else {
            _ = try handle("commit")
            throw SQLiteError(
                code: .other,
                message:
                    "commit on \(path): no transaction is open, SQLite has rolled it back after an earlier error. "
                    + "Run it again.",
                operation: "commit")
        }
        do {
            try cached("COMMIT").run()
        } catch {
            rollback()
            throw error
        }
    }

    /// Undoes the transaction. Does nothing if none is open, for instance because SQLite rolled back by itself after an
    /// error.
    package func rollback() {
        guard isInTransaction else { return }
        // If the rollback fails, the next opening plays back the journal. Nothing better can be done here.
        try? cached("ROLLBACK").run()
    }

    /// Runs `body` in a transaction. It is committed when `body` returns, and rolled back if `body` or the commit
    /// fails.
    package func transaction<T>(_ kind: TransactionKind = .immediate, _ body: () throws(SQLiteError) -> T)
        throws(SQLiteError) -> T
    {
        try transaction(kind, mapping: { $0 }, body)
    }

    /// Runs a transaction like the function above, for a body with errors of its own.
    /// - Parameter mapping: turns an error of BEGIN or COMMIT into the caller's error.
    package func transaction<T, E: Error>(
        _ kind: TransactionKind = .immediate, mapping: (SQLiteError) -> E, _ body: () throws(E) -> T
    ) throws(E) -> T {
        do { try begin(kind) } catch { throw mapping(error) }
        let value: T
        do {
            value = try body()
        } catch {
            rollback()
            throw error
        }
        do { try commit() } catch { throw mapping(error) }
        return value
    }

    /// Runs `body` inside the open transaction. If it throws, its changes are undone and the transaction stays open,
    /// unless SQLite rolled back all of it (see `isInTransaction`).
    /// - Parameter mapping: turns an error of the savepoint into the caller's error.
    package func nested<T, E: Error>(mapping: (SQLiteError) -> E, _ body: () throws(E) -> T) throws(E) -> T {
        do { try cached("SAVEPOINT nested").run() } catch { throw mapping(error) }
        let value: T
        do { value = try body() } catch {
            undoNested()
            throw error
        }
        do { try cached("RELEASE nested").run() } catch {
            undoNested()
            throw mapping(error)
        }
        return value
    }

    private func undoNested() {
        guard isInTransaction else { return }
        try? cached("ROLLBACK TO nested").run()
        try? cached("RELEASE nested").run()
    }
}
