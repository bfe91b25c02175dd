/// One step from a version of a file's tables to the next.
package struct SchemaStep: Sendable {
    /// What the step changes, for an error: `the quarantine tells who refused a record`.
    let name: String
    let run: @Sendable (Connection) throws(SQLiteError) -> Void

    package init(_ name: String, run: @escaping @Sendable (Connection) throws(SQLiteError) -> Void) {
        self.name = name
        self.run = run
    }
}

extension Connection {
    /// Brings the tables of an earlier version to today's. The first step leads from version 1 to 2, and so on.
    ///
    /// Each step is one transaction with its version in `user_version`. So a crash leaves a whole file of one of the
    /// versions, and the next opening goes on.
    /// - Throws: what SQLite reports, with the name of the step. Nothing of the step remains then.
    package func migrate(_ steps: [SchemaStep]) throws(SQLiteError) {
        for (step, version) in zip(steps, Int32(2)...) {
            guard try userVersion == version - 1 else { continue }
            do {
                try transaction { () throws(SQLiteError) in
                    try step.run(self)
                    try setUserVersion(version)
                }
            } catch {
                var failure = error
                failure.message = "step to schema version \(version) (\(step.name)): \(error.message)"
                throw failure
            }
        }
    }
}
