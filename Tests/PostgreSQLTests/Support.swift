import Foundation
import Logging
import PostgresTestKit
import Synchronization
import TestKit

@testable import PostgreSQL

/// A fresh database with a client that has short limits.
struct Fixture {
    let server: PostgresServer
    let test: PostgresTestDatabase
    let database: PostgresDatabase

    /// - Parameter server: by default the one that all tests share.
    init(
        server: PostgresServer? = nil, script: String? = nil,
        change: (inout PostgresConfiguration) -> Void = { _ in }
    ) async throws {
        if let server { self.server = server } else { self.server = try await PostgresServer.shared() }
        test = try await self.server.makeDatabase()
        if let script { try await test.sql(script) }
        database = try Self.client(test.connectionString, change: change)
    }

    static func client(
        _ connectionString: String, change: (inout PostgresConfiguration) -> Void = { _ in },
        check: @escaping @Sendable (PostgresSession) throws(PostgresError) -> Void = { _ in }
    ) throws -> PostgresDatabase {
        var configuration = PostgresConfiguration(connectionString: connectionString)
        change(&configuration)
        return try PostgresDatabase(configuration, logger: Logger(label: "test"), check: check)
    }

    /// Limits of one second each, for tests that run into them.
    static func impatient(_ configuration: inout PostgresConfiguration) {
        configuration.connectTimeoutSeconds = 1
        configuration.statementTimeoutSeconds = 1
        configuration.answerMarginSeconds = 1
        configuration.lockTimeoutSeconds = 1
    }

    func count(_ table: String) async throws -> Int {
        try await Int(test.sql("SELECT count(*) FROM \(table)").first ?? "") ?? -1
    }
}

/// The error of a call that must fail.
func failure(_ call: () async throws -> some Any) async throws -> PostgresError {
    do {
        _ = try await call()
    } catch let error as PostgresError {
        return error
    }
    throw Unexpected(description: "the call succeeded")
}

struct Unexpected: Error, CustomStringConvertible { var description: String }

/// A place to wait at for bodies, which block their threads.
final class Gate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    private let arrived = Mutex(0)

    var arrivedCount: Int { arrived.withLock { $0 } }

    /// Called by bodies.
    func wait() {
        arrived.withLock { $0 += 1 }
        semaphore.wait()
    }

    func open(for count: Int = 1) { for _ in 0..<count { semaphore.signal() } }
}

/// Collects from several tasks.
final class Collected<Value: Sendable>: Sendable {
    private let storage = Mutex<[Value]>([])

    var values: [Value] { storage.withLock { $0 } }

    func add(_ value: Value) { storage.withLock { $0.append(value) } }
}

/// Makes a call that blocks, on a thread of its own.
func onThread<Value: Sendable>(_ call: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await BlockingCall.run(call)
}
