import SQLite
import WireModel

/// Making a new file, and refusing one that is not what we make.
extension QueueStore {
    /// One transaction: a file is a whole queue or still empty.
    func create() throws {
        // An aborted creation leaves no tables; tables without our version are another program's.
        guard try tables().isEmpty else { throw corrupt("it has tables but no version of the queue's schema") }
        try allocate()
        let empty = state
        try connection.transaction(.immediate, mapping: { $0 as any Error }) { () throws in
            for table in QueueFile.tables { try connection.execute(table.sql) }
            try insertMeta(empty)
            for stream in StreamName.allCases { try insertLedger(empty[stream], of: stream) }
            try connection.setUserVersion(QueueFile.schemaVersion)
        }
    }

    func checkSchema() throws {
        let found = try tables()
        for table in QueueFile.tables where found[table.name] != table.sql {
            throw corrupt("table \(table.name) is \(found[table.name] == nil ? "missing" : "not the one this version makes")")
        }
        guard found.count == QueueFile.tables.count else { throw corrupt("it has tables that are not the queue's") }
    }

    private func tables() throws -> [String: String] {
        let statement = try connection.prepare("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL")
        var tables: [String: String] = [:]
        while try statement.step() { tables[statement.string(0)] = statement.string(1) }
        return tables
    }
}
