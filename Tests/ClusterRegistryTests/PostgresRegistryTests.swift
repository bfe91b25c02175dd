import Foundation
import PostgreSQL
import PostgresTestKit
import RecordStore
import Registry
import Testing
import WireModel

@testable import ClusterRegistry

/// What only the registry in PostgreSQL has to show. The suites of the metadata service run on it, too.
@Suite(.timeLimit(.minutes(5))) struct PostgresRegistryTests {
    private func registry(on server: PostgresServer) async throws -> PostgresRegistry {
        let database = try await server.makeDatabase()
        let registry = PostgresRegistry(
            try PostgresDatabase(
                PostgresConfiguration(connectionString: database.connectionString), logger: quietLogger),
            name: database.name)
        try await registry.prepare(logger: quietLogger)
        return registry
    }

    private func directory() -> String {
        FileManager.default.temporaryDirectory.appendingPathComponent("cluster-registry-\(UUID())").path
    }

    @Test func `Tables that are up to date stay as they are`() async throws {
        let registry = try await registry(on: .shared())
        let session = try registry.openWriting()
        try session.run("INSERT INTO organization (name, created) VALUES ('a', 1)")
        try await registry.prepare(logger: quietLogger)
        #expect(try session.hasRow("SELECT 1 FROM organization WHERE name = 'a'"))
        await registry.database.shutDown()
    }

    @Test func `Tables of a newer program are refused`() async throws {
        let registry = try await registry(on: .shared())
        try registry.openWriting().run("INSERT INTO registry_version (number, name) VALUES (1000, 'later')")
        let error = await #expect(throws: StoreError.self) { try await registry.prepare(logger: quietLogger) }
        #expect(error?.message.contains("version 1000") == true)
        await registry.database.shutDown()
    }

    @Test func `A zero in a text is replaced`() async throws {
        let registry = try await registry(on: .shared())
        let session = try registry.openWriting()
        try session.run("INSERT INTO organization (name, created) VALUES (?, 1)", "a\0b")
        #expect(try session.first("SELECT name FROM organization") { $0.string(0) } == "a\u{FFFD}b")
        await registry.database.shutDown()
    }

    @Test func `A column of another type is an error and not a value`() async throws {
        let registry = try await registry(on: .shared())
        let session = try registry.openWriting()
        #expect(throws: StoreError.self) { try session.first("SELECT 'a'::text") { $0.int64(0) } }
        await registry.database.shutDown()
    }

    @Test func `Transactions are not nested`() async throws {
        let registry = try await registry(on: .shared())
        let session = try registry.openWriting()
        #expect(throws: StoreError.self) {
            try session.transaction { () throws(StoreError) in
                try session.transaction { () throws(StoreError) in try session.run("DELETE FROM organization") }
            }
        }
        #expect(try session.run("DELETE FROM organization") == 0)
        await registry.database.shutDown()
    }

    /// Each reads, decides and writes. At the database's level none would see what the others did while it waited.
    @Test func `Changes are serial, whatever the database's isolation is`() async throws {
        let server = try await PostgresServer.shared()
        let database = try await server.makeDatabase()
        try await server.sql(
            "ALTER DATABASE \(database.name) SET default_transaction_isolation = 'repeatable read'")
        let registry = PostgresRegistry(
            try PostgresDatabase(
                PostgresConfiguration(connectionString: database.connectionString), logger: quietLogger),
            name: database.name)
        try await registry.prepare(logger: quietLogger)
        try registry.openWriting().run("INSERT INTO organization (name, created) VALUES ('a', 0)")
        try await withThrowingTaskGroup { group in
            for _ in 0..<4 {
                group.addTask {
                    let session = try registry.openWriting()
                    for _ in 0..<20 {
                        _ = try session.transaction { () throws(StoreError) in
                            let number = try session.first("SELECT created FROM organization") { $0.int64(0) } ?? 0
                            try session.run("UPDATE organization SET created = ?", number + 1)
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try registry.openReading().first("SELECT created FROM organization") { $0.int64(0) } == 80)
        await registry.database.shutDown()
    }

    @Test func `Of collectors that start together, one makes the first tokens`() async throws {
        let registry = try await registry(on: .shared())
        let opened = try await withThrowingTaskGroup(of: (MetadataService, FirstStart?).self) { group in
            for _ in 0..<3 {
                let directory = directory()
                group.addTask {
                    try MetadataService.open(
                        registry: registry, directory: directory, clock: SystemTime(), logger: quietLogger)
                }
            }
            var opened: [(MetadataService, FirstStart?)] = []
            for try await service in group { opened.append(service) }
            return opened
        }
        #expect(opened.compactMap(\.1).count == 1)
        #expect(Set(opened.map(\.0.collectorID)).count == 1)
        let first = try #require(opened.compactMap(\.1).first)
        for (service, _) in opened {
            #expect(try await service.authenticatePerson(token: first.administratorToken) != nil)
            #expect(try await service.tokens().count == 2)
            await service.close()
            try? FileManager.default.removeItem(atPath: service.directoryPath)
        }
        await registry.database.shutDown()
    }

    /// The answer to the commit is lost. The change is durable, and this collector has the device in memory.
    @Test func `After a commit with unknown outcome, nothing is answered from memory`() async throws {
        let server = try await PostgresServer.shared()
        let proxy = try PostgresProxy(to: server)
        let database = try await server.makeDatabase()
        let registry = PostgresRegistry.ofOneCollector(
            try PostgresDatabase(
                PostgresConfiguration(connectionString: database.connectionString(port: proxy.port)),
                logger: quietLogger),
            name: database.name)
        try await registry.prepare(logger: quietLogger)
        let directory = directory()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let (service, created) = try MetadataService.open(
            registry: registry, directory: directory, clock: SystemTime(), logger: quietLogger)
        let device = try await service.enroll(
            token: try #require(created).enrollmentToken, request: WireEnrollRequest())
        let known = try await service.authenticateDevice(credential: device.credential)
        if case .device = known {} else { Issue.record("\(known)") }
        proxy.onStatement("COMMIT", .cutAfterAnswer)
        do throws(AdministrationError) {
            _ = try await service.revokeDevice(device.deviceID, organization: nil, by: .commandLine)
            Issue.record("the answer to the commit has arrived")
        } catch {
            guard case .store(let cause) = error else { throw error }
            #expect(cause.code == .outcomeUnknown)
        }
        #expect(try await service.authenticateDevice(credential: device.credential) == .revoked)
        await service.close()
        await registry.database.shutDown()
    }

    @Test func `What a killed server answered is there afterwards`() async throws {
        let server = try await PostgresServer.start()
        let registry = try await registry(on: server)
        let session = try registry.openWriting()
        _ = try session.transaction { () throws(StoreError) in
            try session.run("INSERT INTO organization (name, created) VALUES ('a', 1)")
        }
        await server.kill()
        let error = #expect(throws: StoreError.self) {
            try session.run("INSERT INTO organization (name, created) VALUES ('b', 1)")
        }
        #expect(error?.code == .unavailable)
        try await server.restart()
        #expect(try session.rows("SELECT name FROM organization") { $0.string(0) } == ["a"])
        await registry.database.shutDown()
    }
}
