import Logging
import PostgresTestKit
import Testing

@testable import PostgreSQL

@Suite(.timeLimit(.minutes(3))) struct ServerFactsTests {
    private static let facts: @Sendable (PostgresSession) throws(PostgresError) -> PostgresServerFacts = {
        session throws(PostgresError) in try PostgresServerFacts.read(session)
    }

    @Test func `It reads the facts of a sound server`() async throws {
        let fixture = try await Fixture()
        let facts = try await fixture.database.read(Self.facts)
        #expect(facts.version / 10_000 == 15)
        #expect(facts.timeline == 1)
        #expect(!facts.isInRecovery)
        #expect(
            try await fixture.test.sql("SELECT system_identifier FROM pg_control_system()") == [
                "\(facts.systemIdentifier)"
            ])
        #expect(facts.faults().isEmpty)
    }

    @Test func `A role without rights can read the facts`() async throws {
        let fixture = try await Fixture()
        try await fixture.server.sql("CREATE ROLE plain_\(fixture.test.name) LOGIN")
        let database = try Fixture.client(
            fixture.server.connectionString(database: fixture.test.name, user: "plain_\(fixture.test.name)"))
        #expect(try await database.read(Self.facts) == fixture.database.read(Self.facts))
    }

    @Test func `The promotion of a standby raises the timeline`() async throws {
        let primary = try await PostgresServer.start()
        let standby = try await primary.startStandby()
        let first = try Fixture.client(primary.connectionString())
        let second = try Fixture.client(standby.connectionString())
        #expect(try await eventually { try await first.read(Self.facts).connectedStandbys == 1 })
        let before = try await second.read(Self.facts)
        #expect(before.isInRecovery)
        #expect(before.timeline == 1)
        #expect(before.systemIdentifier == (try await first.read(Self.facts).systemIdentifier))
        #expect(try await first.read(Self.facts).faults() == [.standbyNotSynchronous])
        try await primary.change("synchronous_standby_names", to: "*")
        #expect(try await first.read(Self.facts).faults().isEmpty)

        // The control file has the old timeline until the checkpoint after the promotion, which now waits.
        try await standby.freezeCheckpointer()
        try await standby.promote()
        #expect(try await standby.sql("SELECT timeline_id FROM pg_control_checkpoint()") == ["1"])
        let after = try await second.read(Self.facts)
        #expect(!after.isInRecovery)
        #expect(after.timeline == 2)
        #expect(after.systemIdentifier == before.systemIdentifier)
        #expect(try await first.read(Self.facts).timeline == 1)
        await standby.thaw()
    }

    @Test func `It finds a server that may lose commits`() async throws {
        // The kit's own setting comes first, and the last one on the command line wins.
        let server = try await PostgresServer.start(settings: ["fsync": "off", "full_page_writes": "off"])
        let facts = try await Fixture.client(server.connectionString()).read(Self.facts)
        #expect(facts.faults() == [.fsyncOff, .fullPageWritesOff])
    }

    @Test func `It finds a session that does not wait`() async throws {
        let fixture = try await Fixture()
        for (value, faults) in [
            ("off", [PostgresServerFault.synchronousCommitOff]), ("local", []), ("remote_write", []), ("on", []),
        ] {
            let database = try Fixture.client(
                fixture.test.connectionString + " options='-c synchronous_commit=\(value)'")
            #expect(try await database.read(Self.facts).faults() == faults)
        }
    }

    @Test(
        arguments: [
            ("on", "", 0, []), ("on", "*", 1, []), ("remote_apply", "*", 1, []), ("local", "", 0, []),
            ("local", "*", 0, [.synchronousCommitTooWeak]), ("local", "*", 1, [.synchronousCommitTooWeak]),
            ("remote_write", "*", 1, [.synchronousCommitTooWeak]), ("off", "*", 1, [.synchronousCommitOff]),
            ("on", "", 1, [.standbyNotSynchronous]),
            ("local", "", 1, [.synchronousCommitTooWeak, .standbyNotSynchronous]),
        ] as [(String, String, Int, [PostgresServerFault])])
    func `It decides which settings are faults`(
        commit: String, names: String, standbys: Int, faults: [PostgresServerFault]
    ) {
        let facts = PostgresServerFacts(
            version: 150_000, systemIdentifier: 1, timeline: 1, isInRecovery: false, fsync: "on",
            synchronousCommit: commit, fullPageWrites: "on", synchronousStandbyNames: names, connectedStandbys: standbys
        )
        #expect(facts.faults() == faults)
        for fault in PostgresServerFault.allCases {
            #expect(fault.description.contains(" = ") || fault.description.contains("Name"))
        }
    }
}
