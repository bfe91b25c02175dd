import Foundation
import SQLite
import Testing
import WireModel

@testable import RecordQueue

@Suite struct QueueSchemaTests {
    /// Devices have files with these tables. A change of them needs a step in `QueueSchema` and a new digest here.
    @Test func `the tables are those of the present version`() {
        let tables = QueueSchema.current.tables(ended: [1]).sorted { $0.key < $1.key }
        let text = tables.map { QueueSchema.withoutLayout($0.value) }.joined(separator: ";")
        #expect(QueueSchema.current.version == 1)
        #expect(ChainLink.zero.appending(Data(text.utf8)).description == "94fc5250addf915526df177df7ab9df8")
    }

    @Test func `a new file has exactly these tables`() throws {
        let fixture = try QueueFixture()
        let store = try fixture.store()
        #expect(try store.tables() == QueueSchema.current.tables(ended: []))
        #expect(QueueSchema.current.tables(ended: []).count == 10)
        try store.close()
    }

    /// The example of a step: a table of records that were refused also says by whom.
    private static let next: QueueSchema = {
        var schema = QueueSchema.current
        schema.text = schema.text.replacingOccurrences(
            of: "    fate TEXT NOT NULL\n)",
            with: "    fate TEXT NOT NULL,\n    refused_by TEXT NOT NULL DEFAULT 'collector'\n)")
        schema.steps.append(
            SchemaStep("the quarantine tells who refused a record") { connection throws(SQLiteError) in
                try connection.execute(
                    "ALTER TABLE quarantine ADD COLUMN refused_by TEXT NOT NULL DEFAULT 'collector'")
            })
        return schema
    }()

    private func store(_ fixture: QueueFixture, _ schema: QueueSchema) throws -> QueueStore {
        try QueueStore(
            directory: fixture.directory, configuration: QueueFixture.configuration(), clock: fixture.clock,
            logger: fixture.logger, schema: schema)
    }

    /// Three records, the first of them quarantined.
    private func fill(_ fixture: QueueFixture) async throws -> EpochID {
        let queue = try fixture.open()
        for _ in 1...3 { _ = try await queue.enqueueDurably(fixture.record(.event)) }
        _ = try await queue.drop(oldest: 1, of: .event, reason: .quarantined, keepAside: true)
        let epoch = queue.epoch
        await queue.close()
        return epoch
    }

    @Test func `a step leads a file of the version before to the present one, with all that is in it`() async throws {
        let fixture = try QueueFixture()
        let epoch = try await fill(fixture)
        let store = try store(fixture, Self.next)
        #expect(try store.connection.userVersion == 2)
        #expect(store.state.epoch == epoch)
        #expect(store.state[.event].rowCount == 2)
        #expect(try store.verify().isWhole)
        let row = try store.connection.cached("SELECT number, refused_by FROM quarantine")
        #expect(try row.step())
        #expect(row.int(0) == 1 && row.string(1) == "collector")
        row.reset()
        try store.close()
        let again = try self.store(fixture, Self.next)
        #expect(try again.inspect().quarantine.count == 1, "the step runs once")
        try again.close()
        // This version is older than that one.
        let before = try Data(contentsOf: URL(fileURLWithPath: fixture.database))
        let error = #expect(throws: QueueError.self) { try fixture.open() }
        #expect(error?.code == .newerVersion)
        #expect(try Data(contentsOf: URL(fileURLWithPath: fixture.database)) == before)
    }

    @Test func `a step that makes other tables than the schema says is found at the opening`() async throws {
        let fixture = try QueueFixture()
        _ = try await fill(fixture)
        var schema = Self.next
        schema.steps = [SchemaStep("nothing") { _ throws(SQLiteError) in }]
        let error = #expect(throws: QueueError.self) { try self.store(fixture, schema) }
        #expect(error?.code == .corrupt)
        #expect(error?.message.contains("table quarantine is not the one this version makes") == true)
    }
}
