import CollectorTunables
import Foundation
import RegistryTestKit
import SQLiteStoreTestKit
import StoreTestKit
import TestKit
import Testing
import WireModel

@testable import CollectorMaintenance
@testable import LogArchive
@testable import RecordStore
@testable import Registry
@testable import SQLiteRecordStore

/// A deleted device loses its records and its logs, and the audit trail says what it had.
@Suite("Erasing deleted devices", .eachRegistry) struct DeviceErasureTests {
    private let directory: TemporaryDirectory
    private let clock = ManualStoreClock()

    init() throws { directory = try TemporaryDirectory() }

    private struct Collector {
        let metadata: MetadataService
        let archive: LogArchive
        let store: SQLiteRecordStore
        let token: String
        let clock: ManualStoreClock

        func pass() async -> Int {
            await DeviceErasure(
                store: store, archive: archive, metadata: metadata, notices: NoticeService(metadata: metadata),
                clock: clock, logger: quietLogger
            ).pass()
        }

        func enrolled() async throws -> DeviceRow {
            let enrolled = try await metadata.enroll(token: token, request: WireEnrollRequest())
            return try #require(try await metadata.device(enrolled.deviceID, organization: nil))
        }

        func delete(_ row: DeviceRow) async throws {
            try await metadata.deleteDevice(
                row.id, enrollment: row.enrollmentID, organization: nil, by: .commandLine)
        }

        func erasures() async throws -> [AuditRow] {
            try await metadata.audit(AuditQuery(action: .deviceErase), below: nil, limit: 10).rows
        }

        func close() async {
            await store.shutDown()
            archive.shutDown()
            await metadata.close()
        }
    }

    private func open() async throws -> Collector {
        let (metadata, created) = try TestRegistry.open(directory: directory.path, clock: clock, logger: quietLogger)
        return Collector(
            metadata: metadata, archive: try LogArchive.open(directory, clock: clock),
            store: try SQLiteRecordStore.open(directory, clock: clock),
            token: try #require(created).enrollmentToken, clock: clock)
    }

    @Test func `Records and logs go, and the audit trail says what there was`() async throws {
        let collector = try await open()
        let (gone, other) = (try await collector.enrolled(), try await collector.enrolled())
        for row in [gone, other] {
            var device = ScriptedDevice(device: row.id)
            device.produce(3)
            try await collector.store.drain(&device)
            try await LogDevice(row: row).upload([try LogDevice.chunk(segment: 1, 1...20)], to: collector.archive)
        }
        try await collector.delete(gone)
        #expect(await collector.pass() == 0, "a request of the device may be under way")
        clock.advance(seconds: Tunables.Erasure.delaySeconds)
        #expect(await collector.pass() == 1)
        #expect(try await collector.store.allRecords(of: gone.id, stream: .sample).isEmpty)
        #expect(try await collector.store.allRecords(of: other.id, stream: .sample).count == 3)
        #expect(directory.chunkFiles.count == 1)
        #expect(try await collector.metadata.deletion(LogQuery(device: gone.id)).chunks == 0)
        #expect(try await collector.metadata.deletion(LogQuery(device: other.id)).chunks == 1)
        let entry = try #require(try await collector.erasures().first?.entry)
        #expect(entry.subject == gone.id.description && entry.actor == .collector && entry.organization == "default")
        #expect(entry.detail == ["epochs": "1", "records": "3", "chunks": "1"])
        #expect(await collector.pass() == 0)
        #expect(try await collector.erasures().count == 1)
        #expect(try await collector.store.verify().isWhole)
        await collector.close()
    }

    @Test func `An erasure that fails is reported, and tried again`() async throws {
        let collector = try await open()
        let memory = InMemoryRecordStore(clock: clock)
        let row = try await collector.enrolled()
        var device = ScriptedDevice(device: row.id)
        device.produce(2)
        try await memory.drain(&device)
        try await collector.delete(row)
        clock.advance(days: 1)
        let erasure = DeviceErasure(
            store: memory, archive: collector.archive, metadata: collector.metadata,
            notices: NoticeService(metadata: collector.metadata), clock: clock, logger: quietLogger)
        func openNotices() async throws -> [String] {
            try await NoticeService(metadata: collector.metadata).page(
                organization: nil, NoticeFilter(isOpen: true), below: nil, limit: 10
            ).rows.map(\.detail)
        }
        memory.fail(StoreError(.io, "the disk is away"))
        #expect(await erasure.pass() == 0)
        #expect(try await openNotices().contains { $0.contains("the disk is away") })
        #expect(try await collector.erasures().isEmpty)
        memory.fail(nil)
        #expect(await erasure.pass() == 1)
        #expect(try await openNotices().isEmpty)
        #expect(try await collector.erasures().map(\.entry.detail["records"]) == ["2"])
        await collector.close()
    }
}
