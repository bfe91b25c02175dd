import SQLite
import WireModel

/// Making a new file, and refusing one that is not what we make.
extension QueueStore {
    /// One transaction: a file is a whole queue or still empty.
    func create(_ initial: QueueState) throws {
        // An aborted creation leaves no tables; tables without our version are another program's.
        guard try tables().isEmpty else { throw corrupt("it has tables but no version of the queue's schema") }
        try allocate()
        try connection.transaction(.immediate, mapping: { $0 as any Error }) { () throws in
            for (_, sql) in QueueFile.tables(ended: []).sorted(by: { $0.key < $1.key }) { try connection.execute(sql) }
            for epoch in initial.ended where epoch.phase != .settled { try createEndedTables(epoch.ordinal) }
            try insert(initial)
            try connection.setUserVersion(QueueFile.schemaVersion)
        }
    }

    func checkSchema(ended: [Int64]) throws {
        let found = try tables()
        let expected = QueueFile.tables(ended: ended)
        for (name, sql) in expected where found[name] != sql {
            throw corrupt("table \(name) is \(found[name] == nil ? "missing" : "not the one this version makes")")
        }
        guard found.count == expected.count else { throw corrupt("it has tables that are not the queue's") }
    }

    /// Ordinals of the epochs that have tables of their own, as the list of epochs says.
    func endedOrdinals() throws -> [Int64] {
        guard try tables()["epoch"] != nil else { throw corrupt("table epoch is missing") }
        let statement = try connection.prepare("SELECT ordinal FROM epoch WHERE reason IS NOT NULL AND phase < ?")
        try statement.bind(EndedEpoch.Phase.settled.rawValue, at: 1)
        var ordinals: [Int64] = []
        while try statement.step() { ordinals.append(statement.int64(0)) }
        return ordinals
    }

    /// Empty tables for rows of an ended epoch, named and worded as renamed ones are.
    func createEndedTables(_ ordinal: Int64) throws {
        for stream in StreamName.allCases {
            try connection.execute(QueueFile.records("\"\(RecordTable.ended(ordinal, stream).name)\"", stream))
        }
    }

    func tables() throws -> [String: String] {
        let statement = try connection.prepare("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL")
        var tables: [String: String] = [:]
        while try statement.step() { tables[statement.string(0)] = statement.string(1) }
        return tables
    }
}
