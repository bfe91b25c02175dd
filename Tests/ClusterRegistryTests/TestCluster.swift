import ClusterRegistry
import Foundation
import Logging
import PostgreSQL
import PostgresTestKit
import RecordStore
import Registry
import Synchronization
import WireModel

let quietLogger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

struct SystemTime: StoreClock {
    func now() -> Int64 { Int64(Date().timeIntervalSince1970 * 1_000_000) }
}

/// A machine's count of time that stands until it is moved.
final class ManualMachineTime: BootClock {
    let bootID = "boot"
    private let time = Mutex<Int64>(0)

    func sinceBoot() -> Int64 { time.withLock { $0 } }
    func advance(seconds: Int64) { time.withLock { $0 += seconds * 1_000_000 } }
}

/// Two collectors with one registry in PostgreSQL. Nothing follows the registry by itself.
struct TestCluster {
    struct Collector {
        var service: MetadataService
        var follower: RegistryFollower
        var registry: PostgresRegistry
        let time: ManualMachineTime
    }

    let database: PostgresTestDatabase
    let enrollmentToken: String
    let administratorToken: String
    /// Makes the changes.
    var first: Collector
    /// Has to learn of them.
    var second: Collector

    /// - Parameters:
    ///   - proxy: between the second collector and the server.
    ///   - clock: of the second collector's lease instead of its manual one.
    static func start(
        on server: PostgresServer, proxy: PostgresProxy? = nil, clock: (any BootClock)? = nil,
        statementTimeoutSeconds: Int = 20
    ) async throws -> TestCluster {
        let database = try await server.makeDatabase()
        func registry(_ port: Int?, _ clock: any BootClock, _ seconds: Int) throws -> PostgresRegistry {
            var configuration = PostgresConfiguration(
                connectionString: server.connectionString(database: database.name, port: port))
            configuration.statementTimeoutSeconds = seconds
            configuration.answerMarginSeconds = 1
            configuration.connectTimeoutSeconds = 2
            return PostgresRegistry(
                try PostgresDatabase(configuration, logger: quietLogger), name: database.name, clock: clock)
        }
        func collector(
            port: Int?, clock: (any BootClock)?
        ) async throws -> (collector: Collector, created: FirstStart?) {
            let time = ManualMachineTime()
            let registry = try registry(port, clock ?? time, statementTimeoutSeconds)
            try await registry.prepare(logger: quietLogger)
            let directory = FileManager.default.temporaryDirectory.appendingPathComponent("cluster-registry-\(UUID())")
            let (service, created) = try MetadataService.open(
                registry: registry, directory: directory.path, clock: SystemTime(), logger: quietLogger)
            let follower = try RegistryFollower(registry, of: service, logger: quietLogger)
            return (Collector(service: service, follower: follower, registry: registry, time: time), created)
        }
        // A busy machine may need longer for the tables than a test allows for an answer.
        try await registry(nil, ManualMachineTime(), 20).prepare(logger: quietLogger)
        let (first, created) = try await collector(port: nil, clock: nil)
        let (second, _) = try await collector(port: proxy?.port, clock: clock)
        guard let created else { throw StoreError(.internalFault, "the first collector has made no tokens") }
        return TestCluster(
            database: database, enrollmentToken: created.enrollmentToken,
            administratorToken: created.administratorToken, first: first, second: second)
    }

    func stop() async {
        for collector in [first, second] {
            await collector.follower.close()
            await collector.service.close()
            await collector.registry.database.shutDown()
            try? FileManager.default.removeItem(atPath: collector.service.directoryPath)
        }
    }

    /// Both have read everything, and hold a lease.
    func settle() async throws {
        try await first.follower.read()
        try await second.follower.read()
    }

    func enroll(application: String = "") async throws -> EnrollResult {
        var request = WireEnrollRequest()
        request.application = application
        return try await first.service.enroll(token: enrollmentToken, request: request)
    }
}

extension MetadataService {
    /// The device of a credential.
    func device(of credential: String) async throws -> DeviceRow {
        guard case .device(let device) = try await authenticateDevice(credential: credential) else {
            throw StoreError(.internalFault, "the credential is refused")
        }
        return device
    }

    func issueBeacon(to device: DeviceID) throws -> CommandRow {
        try issue(
            NewCommand(
                device: device, action: .sendBeacon(WireSendBeacon()), expires: SystemTime().now() + 3_600_000_000,
                issuer: .commandLine, idempotencyKey: nil, request: Data()), organization: nil
        ).row
    }
}
