import CollectorMaintenance
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import LogArchive
import NIOCore
import RecordStore
import Registry
import SQLite
import SQLiteRecordStore
import Testing
import WireModel

@testable import Collector

/// What `collector.sqlite` says of devices' latest state is what their records say.
@Suite("Device states derived again") struct ProjectionRebuildTests {
    /// Devices over HTTP into real files: what each batch holds is what a device would send.
    private struct Scene {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("projection-\(UUID())").path
        let clock = SteppedClock()

        func run(
            _ body:
                @escaping @Sendable (MetadataService, SQLiteRecordStore, any TestClientProtocol, String) async throws
                -> Void
        )
            async throws
        {
            let (metadata, created) = try MetadataService.open(
                directory: directory, clock: clock, logger: KeptData.logger)
            let store = try SQLiteRecordStore.open(directory: directory, clock: clock, logger: KeptData.logger)
            let archive = try LogArchive.open(metadata: metadata, logger: KeptData.logger)
            let clock = clock
            let server = CollectorServer(
                store: store, metadata: metadata, archive: archive, notices: NoticeService(metadata: metadata),
                settings: CollectorServer.Settings(port: 0), logger: KeptData.logger, clock: { clock.now() })
            try await server.application().test(.router) {
                try await body(metadata, store, $0, created?.enrollmentToken ?? "")
            }
            await store.shutDown()
            archive.shutDown()
            await metadata.close()
        }

        func remove() { try? FileManager.default.removeItem(atPath: directory) }

        func rebuild() async throws -> ProjectionRebuild.Report {
            let (metadata, _) = try MetadataService.open(directory: directory, clock: clock, logger: KeptData.logger)
            let report = try await ProjectionRebuild(
                of: try SQLiteRecordStore.openReading(directory: directory), metadata: metadata
            ).run()
            await metadata.close()
            return report
        }

        /// Every column of every device's state, as text.
        func states() throws -> [String] {
            let connection = try Connection(path: directory + "/collector.sqlite", options: .init(mode: .readOnly))
            let statement = try connection.prepare(
                """
                SELECT hex(device), last_seen, hex(beacon), hex(identity), last_beacon, expected_beacon_seconds, \
                push_token
                FROM device_state ORDER BY device
                """)
            var rows: [String] = []
            while try statement.step() {
                rows.append((0..<7).map { statement.optionalString(Int32($0)) ?? "NULL" }.joined(separator: "|"))
            }
            return rows
        }

        func execute(_ sql: String) throws {
            let connection = try Connection(path: directory + "/collector.sqlite", options: .init(mode: .readWrite))
            try connection.execute(sql)
            try connection.close()
        }
    }

    private static func beacon(_ name: String, seconds: UInt32 = 900, token: String? = nil) -> Data {
        var beacon = WireBeacon()
        beacon.deviceName = name
        beacon.nextBeaconSeconds = seconds
        if let token {
            if token.isEmpty { beacon.pushToken.cleared = true } else { beacon.pushToken.token = token }
        }
        return beacon.encoded
    }

    private static func sample(_ host: String? = nil) -> Data {
        var sample = WireSystemSample()
        if let host { sample.identity.hostName = host }
        sample.uptimeSeconds = 5
        return sample.encoded
    }

    /// Three devices over six days: beacons with and without tokens, identities, schedules that change, one that says
    /// little.
    private func play(_ scene: Scene, then: @escaping @Sendable (SQLiteRecordStore) async throws -> Void = { _ in })
        async throws
    {
        try await scene.run { metadata, store, client, token in
            for device in 0..<3 {
                let enrolled = try await metadata.enroll(token: token, request: WireEnrollRequest())
                var (status, samples, events) = (
                    ChainBuilder(stream: .status), ChainBuilder(stream: .sample), ChainBuilder(stream: .event)
                )
                func send(_ parts: [BatchPart]) async throws {
                    scene.clock.advance(seconds: 60)
                    let answer = try await client.send(
                        .post, WireNames.batchesPath, bearer: enrolled.credential,
                        headers: [.contentType: WireNames.protobuf],
                        body: parts.request)
                    #expect(answer.status == .ok, "\(String(buffer: answer.body))")
                }
                for day in 0..<6 {
                    let token = day == 1 ? "token \(device)" : day == 4 && device == 1 ? "" : nil
                    if device < 2 || day == 0 {
                        try await send([
                            status.part(
                                kind: .beacon,
                                bodies: [
                                    Self.beacon("a", token: token),
                                    Self.beacon("day \(day)", seconds: UInt32(60 + day), token: token),
                                ])
                        ])
                    }
                    try await send([
                        samples.part(
                            kind: .sampleSystem, module: "system",
                            bodies: [Self.sample(day % 2 == 0 ? "host \(day)" : nil), Self.sample()])
                    ])
                    if device == 2 { try await send([events.events(["opened"])]) }
                    scene.clock.advance(seconds: 86_400)
                }
            }
            try await then(store)
        }
    }

    @Test func `They are the same from records alone`() async throws {
        let scene = Scene()
        defer { scene.remove() }
        try await play(scene)
        let before = try scene.states()
        #expect(before.count == 3 && before.allSatisfy { !$0.contains("NULL|NULL|NULL") })
        try scene.execute("DELETE FROM device_state")
        let report = try await scene.rebuild()
        #expect(report.devices == 3)
        #expect(try scene.states() == before)
        // From states that are wrong.
        try scene.execute(
            """
            UPDATE device_state SET last_seen = last_seen + 5, beacon = x'', identity = NULL, \
            expected_beacon_seconds = 7
            """
        )
        _ = try await scene.rebuild()
        #expect(try scene.states() == before)
    }

    /// The beacon of a program that ends names no next one; its batch names the schedule.
    @Test(arguments: [WireBeaconTrigger.stop, .demand]) func `A stopped device keeps its schedule`(
        _ trigger: WireBeaconTrigger
    ) async throws {
        let scene = Scene()
        defer { scene.remove() }
        try await scene.run { metadata, _, client, token in
            let enrolled = try await metadata.enroll(token: token, request: WireEnrollRequest())
            var status = ChainBuilder(stream: .status)
            func send(_ beacon: WireBeacon, schedule: UInt32) async throws {
                scene.clock.advance(seconds: 30)
                var request = WireBatchRequest()
                request.parts = [status.part(kind: .beacon, bodies: [beacon.encoded]).wire]
                request.expectedBeaconSeconds = schedule
                let answer = try await client.send(
                    .post, WireNames.batchesPath, bearer: enrolled.credential,
                    headers: [.contentType: WireNames.protobuf],
                    body: request.encoded)
                #expect(answer.status == .ok)
            }
            var beacon = WireBeacon()
            beacon.trigger = .start
            beacon.nextBeaconSeconds = 60
            try await send(beacon, schedule: 60)
            beacon.trigger = trigger
            beacon.nextBeaconSeconds = 0
            // An agent that has ended has no schedule to report with its batch either.
            try await send(beacon, schedule: trigger == .stop ? 60 : 0)
            #expect(try await metadata.device(enrolled.deviceID, organization: nil)?.expectedBeaconSeconds == 60)
        }
        func state(after seconds: Int64) async throws -> ReportingState? {
            let (metadata, _) = try MetadataService.open(
                directory: scene.directory, clock: scene.clock, logger: KeptData.logger)
            _ = try await ProjectionRebuild(
                of: try SQLiteRecordStore.openReading(directory: scene.directory), metadata: metadata
            ).catchUp()
            scene.clock.advance(seconds: seconds)
            let devices = try await metadata.devices(organization: nil, after: nil, limit: 10).devices
            await metadata.close()
            return devices.first.map { ReportingState(of: $0, at: scene.clock.now()) }
        }
        #expect(try await state(after: 0) == .reporting)
        // As a version that believed the last beacon left it.
        try scene.execute("UPDATE device_state SET expected_beacon_seconds = 0")
        _ = try await scene.rebuild()
        #expect(try await state(after: 0) == .reporting)
        #expect(try await state(after: 180) == .late)
        #expect(try await state(after: 600) == .silent)
    }

    @Test func `What only removed files could prove stays`() async throws {
        let scene = Scene()
        defer { scene.remove() }
        try await play(scene) { store in
            // Of the third device's beacons and events nothing is left.
            for stream in StreamName.allCases {
                let kept = try await store.partitions().kept.map(\.partition).filter { $0.stream == stream }
                for partition in kept.dropLast() {
                    try await store.drop(partition)
                }
            }
        }
        let before = try scene.states()
        _ = try await scene.rebuild()
        #expect(try scene.states() == before)
        #expect(try await StoreVerifier(directory: scene.directory).verify().isWhole)
    }

    @Test func `A start catches up with what a killed process had not written`() async throws {
        let scene = Scene()
        defer { scene.remove() }
        try await play(scene)
        let before = try scene.states()
        // As it was three batches ago.
        try scene.execute(
            """
            UPDATE device_state SET last_seen = last_seen - 200000000, beacon = x'' WHERE device = (SELECT device \
            FROM device_state
            ORDER BY last_seen DESC LIMIT 1)
            """)
        let (metadata, _) = try MetadataService.open(
            directory: scene.directory, clock: scene.clock, logger: KeptData.logger)
        let report = try await ProjectionRebuild(
            of: try SQLiteRecordStore.openReading(directory: scene.directory), metadata: metadata
        ).catchUp()
        await metadata.close()
        #expect(report.devices == 1 && report.records < 20)
        let after = try scene.states()
        #expect(after.map { $0.split(separator: "|")[1] } == before.map { $0.split(separator: "|")[1] })
    }
}
