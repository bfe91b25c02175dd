import CSQLite
import Glibc

/// One connection to one SQLite file: a thin and complete layer, synchronous.
///
/// Not `Sendable`: it is opened without SQLite's own mutexes, so one thread (or queue, or actor) at a time uses it and
/// its statements. Committed means on disk as `Options.synchronous` says. The connection is closed when it is released;
/// statements still held then stay valid until they are released too.
package final class Connection {
    package let path: String
    package let options: Options

    /// nil once closed.
    var database: OpaquePointer?
    private var statements: [String: Statement] = [:]
    /// Bytes of `SQLITE_FCNTL_CHUNK_SIZE`, 0: not set.
    var chunkBytes = 0

    /// The oldest library whose behaviour this layer was checked against.
    static let leastLibraryVersion: Int32 = 3_035_000

    /// Opens the file and sets it up.
    ///
    /// The last part of the path may not be a symbolic link (directories on the way may). A file that is made gets
    /// `Options.fileMode` whatever the umask.
    /// - Parameter path: file, or `:memory:`.
    /// - Throws: `.unsupportedVersion` for an old library or a newer file, `.pragma` where a setting did not take,
    ///   `.busy`, `.corrupt`, `.notADatabase`, `.cannotOpen`, `.full` and others as SQLite says.
    package init(path: String, options: Options = Options()) throws(SQLiteError) {
        guard sqlite3_libversion_number() >= Connection.leastLibraryVersion else {
            throw SQLiteError(
                code: .unsupportedVersion,
                message:
                    "SQLite library \(String(cString: sqlite3_libversion())) is older than 3.35.0. Install a newer "
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
        let result = sqlite3_open_v2(name, &database, flags, nil)
        guard result == SQLITE_OK else {
            throw SQLiteError.of(database, result: result, operation: "open", path: self.path)
        }
        sqlite3_extended_result_codes(database, 1)
        try setUp(inMemory: inMemory)
    }

    /// Every byte but letters, digits and a few marks is escaped.
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
        // Statements are finalized by their own release; SQLite keeps the handle until the last of them has gone.
        statements.removeAll()
        if let database { sqlite3_close_v2(database) }
    }

    /// Closes now. Cached statements are ended; harmless when closed already.
    /// - Throws: `.busy` while statements from `prepare(_:)` are still held; the connection stays open then.
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

    /// Runs one or more statements that need no values; rows are ignored. Never for text with data in it: bind that.
    package func execute(_ sql: String) throws(SQLiteError) {
        let database = try handle("execute")
        let result = sqlite3_exec(database, sql, nil, nil, nil)
        guard result == SQLITE_OK else {
            throw SQLiteError.of(database, result: result, operation: "execute", path: path)
        }
    }

    /// A statement of the caller's own, planned for long use.
    /// - Parameter sql: exactly one statement; more is `.misuse`, because only the first would run.
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

    /// The statement for this text from the connection's cache, reset and with no values bound. Whoever asks for the
    /// same text again gets the same statement, so a loop over its rows must be over by then.
    package func cached(_ sql: String) throws(SQLiteError) -> Statement {
        if let statement = statements[sql] {
            statement.reset()
            statement.clearBindings()
            return statement
        }
        let statement = try prepare(sql)
        // Texts are constants of the program: a full cache means they are not, and starting again is as good as any
        // order.
        if statements.count >= options.statementCacheCapacity { statements.removeAll() }
        statements[sql] = statement
        return statement
    }

    /// Rows changed by the last INSERT, UPDATE or DELETE.
    package var changes: Int { database.map { Int(sqlite3_changes($0)) } ?? 0 }
    package var lastInsertedRow: Int64 { database.map { sqlite3_last_insert_rowid($0) } ?? 0 }
    package var isInTransaction: Bool { database.map { sqlite3_get_autocommit($0) == 0 } ?? false }
    /// True where the file can only be read, whatever was asked for.
    package var isReadOnly: Bool { database.map { sqlite3_db_readonly($0, "main") == 1 } ?? true }

    /// Makes the running statement end with `.interrupted`. The one call another thread may make, while the connection
    /// is open.
    package func interrupt() {
        if let database { sqlite3_interrupt(database) }
    }

    func handle(_ operation: String) throws(SQLiteError) -> OpaquePointer {
        guard let database else { throw .misuse("the connection is closed", operation: operation, path: path) }
        return database
    }

    /// SQLite refuses a link anywhere in the path; only one in the place of the file is a danger. So directories are
    /// resolved first.
    private static func resolvingDirectory(of path: String) -> String {
        let slash = path.lastIndex(of: "/")
        let directory = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        guard let resolved = realpath(directory, nil) else { return path }
        defer { free(resolved) }
        let name = slash.map { path[path.index(after: $0)...] } ?? path[...]
        let base = String(cString: resolved)
        return base == "/" ? "/\(name)" : "\(base)/\(name)"
    }

    /// Makes an empty file, which SQLite takes for an empty database, so that its mode does not depend on the umask.
    private static func makeFile(_ path: String, mode: UInt32) throws(SQLiteError) {
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)
        guard descriptor >= 0 else {
            let systemError = errno
            // There already: SQLite says what is wrong with it, if anything.
            if systemError == EEXIST { return }
            let code = SQLiteError.Code(result: SQLITE_CANTOPEN, systemError: systemError)
            throw SQLiteError(
                code: code, extendedResultCode: SQLITE_CANTOPEN,
                message: "open failed on \(path): \(String(cString: strerror(systemError))). \(code.remedy)",
                operation: "open")
        }
        // Nobody else can have it open yet, so closing it here drops no lock of this process.
        fchmod(descriptor, mode)
        Glibc.close(descriptor)
    }
}

extension Connection {
    package enum TransactionKind: String, Sendable {
        /// Locks when first used; an upgrade from reading to writing may fail with `.busy` and must be run anew.
        case deferred = "BEGIN DEFERRED"
        /// Takes the writer's lock at once: the busy timeout applies here and nowhere later.
        case immediate = "BEGIN IMMEDIATE"
        case exclusive = "BEGIN EXCLUSIVE"
    }

    package func begin(_ kind: TransactionKind = .immediate) throws(SQLiteError) {
        try cached(kind.rawValue).run()
    }

    /// Returns after the transaction is on disk as `Options.synchronous` says. When it fails nothing of the transaction
    /// remains.
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

    /// Undoes the transaction; harmless where none is open, as after an error by which SQLite has rolled back by
    /// itself.
    package func rollback() {
        guard isInTransaction else { return }
        // A rollback that fails leaves a journal which the next opening plays back: there is nothing better to do here.
        try? cached("ROLLBACK").run()
    }

    /// Runs `body` in a transaction: committed when it returns, rolled back when it throws or when the commit fails.
    package func transaction<T>(_ kind: TransactionKind = .immediate, _ body: () throws(SQLiteError) -> T)
        throws(SQLiteError) -> T
    {
        try transaction(kind, mapping: { $0 }, body)
    }

    /// The same for a body that throws errors of its caller.
    /// - Parameter mapping: makes the caller's error of one that BEGIN or COMMIT threw.
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

    /// Runs `body` within the transaction that is open: what it did is undone when it throws, and the transaction stays
    /// open, unless SQLite has rolled all of it back (`isInTransaction` tells).
    /// - Parameter mapping: makes the caller's error of one that the savepoint threw.
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
