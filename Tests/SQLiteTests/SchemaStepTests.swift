import Testing

@testable import SQLite

@Suite struct SchemaStepTests {
    private let connection: Connection

    init() throws {
        connection = try Connection(path: ":memory:")
        try connection.execute("CREATE TABLE t (a INTEGER)")
        try connection.setUserVersion(1)
    }

    private static let steps = [
        SchemaStep("t has b") { connection throws(SQLiteError) in
            try connection.execute("ALTER TABLE t ADD COLUMN b INTEGER")
        },
        SchemaStep("t has c") { connection throws(SQLiteError) in
            try connection.execute("ALTER TABLE t ADD COLUMN c INTEGER")
        },
    ]

    private func columns() throws -> Int32 { try connection.prepare("SELECT * FROM t").columnCount }

    @Test(arguments: 0...2) func `a file gets the steps after its version, in order and once`(done: Int) throws {
        try connection.migrate(Array(Self.steps.prefix(done)))
        #expect(try connection.userVersion == Int32(1 + done))
        try connection.migrate(Self.steps)
        #expect(try connection.userVersion == 3)
        try connection.migrate(Self.steps)
        #expect(try connection.userVersion == 3)
        #expect(try columns() == 3)
    }

    @Test func `without steps a file stays as it is`() throws {
        try connection.migrate([])
        #expect(try connection.userVersion == 1)
        #expect(try columns() == 1)
    }

    @Test func `a step that fails is named and leaves nothing of itself, and the next opening goes on`() throws {
        let failing = SchemaStep("t has d") { connection throws(SQLiteError) in
            try connection.execute("ALTER TABLE t ADD COLUMN d INTEGER")
            try connection.execute("ALTER TABLE missing ADD COLUMN e INTEGER")
        }
        let error = #expect(throws: SQLiteError.self) { try connection.migrate([Self.steps[0], failing]) }
        #expect(error?.message.contains("step to schema version 3 (t has d): ") == true)
        #expect(try connection.userVersion == 2)
        #expect(try columns() == 2)
        try connection.migrate(Self.steps)
        #expect(try connection.userVersion == 3)
        #expect(try columns() == 3)
    }
}
