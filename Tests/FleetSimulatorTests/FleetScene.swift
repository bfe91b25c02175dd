import Collector
import CollectorMaintenance
import FleetSimulator
import Foundation
import Hummingbird
import HummingbirdTesting
import LogArchive
import Logging
import RecordStore
import Registry
import SQLiteRecordStore
import Testing

/// A collector over files, on a loopback port, and a fleet that sends to it.
struct FleetScene {
    /// - Parameter tampered: what stands between the server and its store.
    static func run(_ plan: FleetPlan, tampered: (any RecordStore) -> any RecordStore = { $0 }) async throws
        -> FleetReport
    {
        try await run([plan], tampered: tampered)[0]
    }

    /// One after the other at one collector.
    static func run(
        _ plans: [FleetPlan], tampered: (any RecordStore) -> any RecordStore = { $0 }
    ) async throws -> [FleetReport] {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("fleet-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let clock = SystemStoreClock()
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let (metadata, created) = try MetadataService.open(directory: directory, clock: clock, logger: logger)
        let tokens = try #require(created)
        let store = try SQLiteRecordStore.open(directory: directory, clock: clock, logger: logger)
        let archive = try LogArchive.open(metadata: metadata, logger: logger)
        var settings = CollectorServer.Settings(port: 0)
        // Nobody's time is up, however busy the machine.
        settings.connections.firstHeadSeconds = 3600
        settings.connections.idleSeconds = 3600
        settings.connections.bodySeconds = 3600
        settings.connections.bodyGraceSeconds = 3600
        settings.connections.answerSeconds = 3600
        let server = CollectorServer(
            store: tampered(store), metadata: metadata, archive: archive, notices: NoticeService(metadata: metadata),
            settings: settings,
            logger: logger, clock: { clock.now() })
        let reports = try await server.application().test(.live) { framework in
            var reports: [FleetReport] = []
            for plan in plans {
                let transport = HTTPFleetTransport(
                    collector: "http://127.0.0.1:\(try #require(framework.port))", connections: plan.concurrency)
                func fleet(_ enrollment: String, _ person: String) -> FleetRun {
                    FleetRun(
                        plan, transport: transport, enrollmentToken: enrollment, personToken: person, start: clock.now()
                    )
                }
                let unready = await #expect(throws: FleetUnready.self) {
                    try await fleet("wrong", tokens.administratorToken).check()
                }
                #expect(unready == .refused(.enrollment, status: 401))
                let unknown = await #expect(throws: FleetUnready.self) {
                    try await fleet(tokens.enrollmentToken, "wrong").check()
                }
                #expect(unknown == .refused(.person, status: 401))
                var run = fleet(tokens.enrollmentToken, tokens.administratorToken)
                try await run.check()
                reports.append(try await run.run())
                await transport.shutdown()
            }
            return reports
        }
        // No view shows simulated devices unless test devices are asked for.
        var query = DeviceQuery()
        #expect(try await metadata.devices(query, after: nil, limit: 1).total == 0)
        query.withTest = true
        #expect(try await metadata.devices(query, after: nil, limit: 1).total > 0)
        await store.shutDown()
        archive.shutDown()
        await metadata.close()
        #expect(try await StoreVerifier(directory: directory).verify().isWhole)
        return reports
    }
}
