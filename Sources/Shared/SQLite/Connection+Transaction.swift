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

    /// Returns after the transaction is on disk as `Options.synchronous` says. When it fails nothing of the transaction remains.
    package func commit() throws(SQLiteError) {
        guard isInTransaction else {
            _ = try handle("commit")
            throw SQLiteError(
                code: .other,
                message: "commit on \(path): no transaction is open, SQLite has rolled it back after an earlier error. Run it again.",
                operation: "commit")
        }
        do {
            try cached("COMMIT").run()
        } catch {
            rollback()
            throw error
        }
    }

    /// Undoes the transaction; harmless where none is open, as after an error by which SQLite has rolled back by itself.
    package func rollback() {
        guard isInTransaction else { return }
        // A rollback that fails leaves a journal which the next opening plays back: there is nothing better to do here.
        try? cached("ROLLBACK").run()
    }

    /// Runs `body` in a transaction: committed when it returns, rolled back when it throws or when the commit fails.
    package func transaction<T>(_ kind: TransactionKind = .immediate, _ body: () throws(SQLiteError) -> T) throws(SQLiteError) -> T {
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

    /// Runs `body` within the transaction that is open: what it did is undone when it throws, and the transaction stays open, unless SQLite has
    /// rolled all of it back (`isInTransaction` tells).
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
