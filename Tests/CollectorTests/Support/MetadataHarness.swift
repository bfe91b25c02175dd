import Collector
import CollectorAPI
import Foundation
import Hummingbird
import HummingbirdTesting
import LogArchive
import Logging
import RecordStore
import Registry
import StoreTestKit
import Synchronization
import Testing
import WireModel

/// A clock that stands until it is moved.
final class SteppedClock: StoreClock {
    private let time: Mutex<Int64>

    init(_ start: Int64 = Harness.now) { time = Mutex(start) }

    func now() -> Int64 { time.withLock { $0 } }
    func advance(seconds: Int64) { time.withLock { $0 += seconds * 1_000_000 } }
}

/// A collector over its own metadata and logs on disk, for what they are part of: profiles, commands, enrollment,
/// uploads. Records are kept in memory.
struct MetadataHarness: Sendable {
    let directory: String
    let clock: SteppedClock
    let metadata: MetadataService
    let archive: LogArchive
    let server: CollectorServer
    let enrollmentToken: String
    /// The token of an administrator of no organization.
    let administrator: String
    let store = InMemoryRecordStore()

    /// - Parameters:
    ///   - quotaBytes: of logs, per organization and application.
    ///   - now: of its clock, which stands until it is moved.
    init(
        quotaBytes: Int = 200_000_000, in directory: String? = nil, now: Int64 = Harness.now,
        certificates: DeviceCertificates = .off,
        ownPin: Data? = nil, backupPin: Data? = nil, ownRoot: Data? = nil, broker: EnrollmentBroker? = nil,
        logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    ) throws {
        clock = SteppedClock(now)
        self.directory =
            directory ?? FileManager.default.temporaryDirectory.appendingPathComponent("collector-\(UUID())").path
        let (metadata, created) = try MetadataService.open(directory: self.directory, clock: clock, logger: logger)
        self.metadata = metadata
        enrollmentToken = created?.enrollmentToken ?? ""
        administrator = created?.administratorToken ?? ""
        var configuration = LogArchive.Configuration()
        configuration.quotas.applicationBytes = quotaBytes
        configuration.leastFreeBytes = 0
        archive = try LogArchive.open(metadata: metadata, configuration: configuration, logger: logger)
        let clock = clock
        var settings = CollectorServer.Settings(port: 0)
        settings.deviceMetrics.choice = try DeviceMetricChoice(["custom:till.sales"])
        server = CollectorServer(
            store: store, metadata: metadata, archive: archive, notices: NoticeService(metadata: metadata),
            settings: settings, certificates: certificates, ownPin: { ownPin },
            backupPin: { backupPin }, ownRoot: { ownRoot }, broker: broker, logger: logger,
            clock: { clock.now() })
    }

    /// Runs over a real socket, within `route`.
    func live<Value: Sendable>(_ test: @escaping @Sendable (LiveClient) async throws -> Value) async throws -> Value {
        try await server.application().test(.live) { framework in
            try await LiveClient.with(port: try #require(framework.port), test)
        }
    }

    /// Runs against the responder, and removes the directory after.
    func route<Value: Sendable>(_ test: @escaping @Sendable (any TestClientProtocol) async throws -> Value) async throws
        -> Value
    {
        let result: Result<Value, any Error>
        do {
            result = .success(try await server.application().test(.router) { try await test($0) })
        } catch { result = .failure(error) }
        archive.shutDown()
        await metadata.close()
        try? FileManager.default.removeItem(atPath: directory)
        return try result.get()
    }

    func person(_ role: PersonRole, _ organization: String = "default") async throws -> String {
        try await metadata.createPersonToken(name: "\(role)", role: role, organization: organization).token
    }

    func device(application: String = "", previous: EnrollResult? = nil) async throws -> EnrollResult {
        var request = WireEnrollRequest()
        request.deviceName = "kiosk"
        request.application = application
        request.machineHash = "m"
        if let previous {
            request.deviceID = previous.deviceID.data
            request.previousCredential = previous.credential
        }
        return try await metadata.enroll(token: enrollmentToken, request: request)
    }
}
