import ClusterRegistry
import Foundation
import Logging
import PostgreSQL
import PostgresTestKit
import RecordStore
import Registry
import StoreTestKit
import Testing

/// Runs each test of a suite twice: with the registry in SQLite, and then with one in PostgreSQL, on a real server and
/// with a database of its own. Tests that are about the file have `.aboutFiles` and run once.
///
/// A test opens its services with `TestRegistry`, so that it needs no word about the engine.
package struct EachRegistry: SuiteTrait, TestTrait, TestScoping {
    package let isRecursive = true

    package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        try await function()
        guard !test.traits.contains(where: { $0 is AboutFiles }) else { return }
        let (registry, drop) = try await TestRegistry.makePostgreSQL()
        do {
            try await TestRegistry.$postgreSQL.withValue(registry) { try await function() }
        } catch {
            Issue.record("with the registry in PostgreSQL: \(error)")
        }
        await registry.database.shutDown()
        try await drop()
    }
}

/// The test is about `collector.sqlite` itself.
package struct AboutFiles: TestTrait {}

extension Trait where Self == EachRegistry {
    package static var eachRegistry: Self { EachRegistry() }
}

extension Trait where Self == AboutFiles {
    package static var aboutFiles: Self { AboutFiles() }
}

/// The registry of the running test.
package enum TestRegistry {
    /// `nil`: `collector.sqlite` in the directory.
    @TaskLocal package static var postgreSQL: PostgresRegistry?

    /// Opens a metadata service with the test's registry; all of a test's services in PostgreSQL have the same one.
    /// - Parameter exclusive: for the file alone.
    package static func open(
        directory: String, clock: any StoreClock, logger: Logger, exclusive: Bool = true,
        deliver: @Sendable (FirstStart) throws(StoreError) -> Void = { _ in }
    ) throws(StoreError) -> (MetadataService, created: FirstStart?) {
        guard let postgreSQL else {
            return try MetadataService.open(
                directory: directory, clock: clock, logger: logger, exclusive: exclusive, deliver: deliver)
        }
        return try MetadataService.open(
            registry: postgreSQL, directory: directory, clock: clock, logger: logger, deliver: deliver)
    }

    /// A session that may write, beside those of the service.
    package static func session(directory: String) throws(StoreError) -> any RegistrySession {
        try (postgreSQL ?? SQLiteRegistry(directory: directory) as any Registry).openWriting()
    }

    package static func makePostgreSQL() async throws -> (PostgresRegistry, drop: @Sendable () async throws -> Void) {
        let (server, name) = try await server.makeDatabase()
        return (
            try registry(server.connectionString(database: name)),
            { try await server.sql("DROP DATABASE \(name) WITH (FORCE)") }
        )
    }

    fileprivate static func registry(_ connectionString: String) throws -> PostgresRegistry {
        .ofOneCollector(
            try PostgresDatabase(PostgresConfiguration(connectionString: connectionString), logger: quietLogger),
            name: "PostgreSQL")
    }

    private static let server = RegistryServer()
}

/// The server of all tests of this process, with an empty registry that is copied for each test. No test kills it, so
/// it does not sync.
private actor RegistryServer {
    private static let template = "registry_template"
    private var started: Task<PostgresServer, any Error>?

    package func makeDatabase() async throws -> (PostgresServer, name: String) {
        let server = try await start().value
        let name = "test_\(UUID().uuidString.replacing("-", with: "").lowercased())"
        try await server.sql("CREATE DATABASE \(name) TEMPLATE \(Self.template)")
        return (server, name)
    }

    private func start() -> Task<PostgresServer, any Error> {
        if let started { return started }
        let task = Task {
            let server = try await PostgresServer.start(settings: ["fsync": "off"])
            try await server.sql("CREATE DATABASE \(Self.template) TEMPLATE template0")
            let registry = try TestRegistry.registry(server.connectionString(database: Self.template))
            try await registry.prepare(logger: quietLogger)
            await registry.database.shutDown()
            return server
        }
        started = task
        return task
    }
}
