import CollectorTunables
import Foundation
import RegistryTestKit
import StoreTestKit
import TestKit
import Testing
import WireModel

@testable import LogArchive
@testable import RecordStore
@testable import Registry

/// What was deleted never comes again, and what remains of it is bounded.
@Suite("What remains of what was deleted", .eachRegistry) struct TombstoneTests {
    private let directory: TemporaryDirectory
    private let clock = ManualStoreClock()

    init() throws { directory = try TemporaryDirectory() }

    private func count(_ sql: String) throws -> Int {
        try TestRegistry.session(directory: directory.path).first(sql) { $0.int(0) } ?? -1
    }

    private func deleteLogs(of archive: LogArchive) async throws {
        let plan = try await archive.metadata.deletion(LogQuery())
        #expect(try await archive.delete(LogQuery(), confirmation: plan.confirmation, by: .commandLine) != nil)
    }

    @Test func `What was deleted is not accepted again, however long the device was off`() async throws {
        let (metadata, created) = try TestRegistry.open(
            directory: directory.path, clock: clock, logger: quietLogger)
        let archive = try LogArchive.open(directory, clock: clock)
        let enrolled = try await metadata.enroll(
            token: try #require(created).enrollmentToken, request: WireEnrollRequest())
        let row = try #require(try await metadata.device(enrolled.deviceID, organization: nil))
        let chunks = [try LogDevice.chunk(segment: 1, 1...20), try LogDevice.chunk(segment: 2, 1...20)]
        let log = LogDevice(row: row)
        let upload = UploadID.random()
        let manifest = try log.manifest(upload, chunks.map(\.text))
        // The second never comes: the device is switched off.
        _ = try await archive.metadata.beginUpload(manifest, from: row)
        _ = try await archive.store(chunks[0].gzip, chunk: 1, of: upload, from: row.id)
        try await deleteLogs(of: archive)
        clock.advance(days: 59)
        #expect(try await archive.metadata.uploads(of: row.id, command: nil, limit: 10).map(\.deletedChunks) == [1])
        clock.advance(days: 900)
        #expect(try await archive.metadata.uploads(of: row.id, command: nil, limit: 10).map(\.chunks) == [0])
        #expect(try count("SELECT count(*) FROM chunk") == 0)
        await #expect(throws: UploadError.expired) { _ = try await archive.metadata.beginUpload(manifest, from: row) }
        for number in 1...2 {
            await #expect(throws: UploadError.unknownChunk) {
                _ = try await archive.store(chunks[number - 1].gzip, chunk: number, of: upload, from: row.id)
            }
        }
        #expect(directory.chunkFiles.isEmpty)
        try await metadata.deleteDevice(row.id, enrollment: row.enrollmentID, organization: nil, by: .commandLine)
        clock.advance(days: 1)
        #expect(
            try await archive.metadata.uploads(of: row.id, command: nil, limit: 10).isEmpty,
            "nobody can send it any more")
        await archive.close()
        await metadata.close()
    }

    @Test func `Logs of a deleted device stay as long as they are kept`() async throws {
        let (metadata, created) = try TestRegistry.open(
            directory: directory.path, clock: clock, logger: quietLogger)
        let archive = try LogArchive.open(directory, clock: clock)
        let enrolled = try await metadata.enroll(
            token: try #require(created).enrollmentToken, request: WireEnrollRequest())
        let row = try #require(try await metadata.device(enrolled.deviceID, organization: nil))
        try await LogDevice(row: row).upload([try LogDevice.chunk(segment: 1, 1...20)], to: archive)
        try await metadata.deleteDevice(row.id, enrollment: row.enrollmentID, organization: nil, by: .commandLine)
        clock.advance(days: 500)
        #expect(try await archive.metadata.uploads(of: row.id, command: nil, limit: 10).map(\.storedChunks) == [1])
        try await deleteLogs(of: archive)
        clock.advance(seconds: 3601)
        #expect(try await archive.metadata.uploads(of: row.id, command: nil, limit: 10).isEmpty)
        await archive.close()
        await metadata.close()
    }

    @Test func `Of one device, a bounded number of uploads is remembered`() async throws {
        let archive = try LogArchive.open(directory, clock: clock)
        let log = LogDevice()
        for _ in 0..<Tunables.Uploads.rememberedPerDevice + 20 {
            let upload = UploadID.random()
            _ = try await archive.metadata.beginUpload(try log.manifest(upload, []), from: log.row)
            _ = try await archive.metadata.completeUpload(upload, gone: [], from: log.row.id)
        }
        #expect(try count("SELECT count(*) FROM upload") == Tunables.Uploads.rememberedPerDevice + 1)
        await archive.close()
    }

    @Test func `A deleted device is forgotten when nothing of it is left`() async throws {
        let (metadata, created) = try TestRegistry.open(
            directory: directory.path, clock: clock, logger: quietLogger)
        let token = try #require(created).enrollmentToken
        func deleteOne() async throws -> EnrollResult {
            let device = try await metadata.enroll(token: token, request: WireEnrollRequest())
            try await metadata.deleteDevice(
                device.deviceID, enrollment: device.enrollmentID, organization: nil, by: .commandLine)
            return device
        }
        func remembered() throws -> Int { try count("SELECT count(*) FROM deleted_device") }
        let unlimited = try await metadata.createEnrollmentToken(
            organization: "default", expiresInSeconds: 1000 * 86_400
        ).token
        let first = try await deleteOne()
        _ = try await deleteOne()
        #expect(try remembered() == 2)
        clock.advance(days: 401)
        func deleteAnother() async throws {
            let device = try await metadata.enroll(token: unlimited, request: WireEnrollRequest())
            try await metadata.deleteDevice(
                device.deviceID, enrollment: device.enrollmentID, organization: nil, by: .commandLine)
        }
        try await deleteAnother()
        #expect(try remembered() == 3, "they are not erased")
        #expect(try await metadata.authenticateDevice(credential: first.credential) == .revoked)
        let due = try await metadata.devicesToErase(deletedBy: clock.now() - 1, limit: 10)
        #expect(due.count == 2 && due.map(\.id).contains(first.deviceID))
        try await metadata.recordErased(due.map { ErasedDevice(device: $0, epochs: 0, records: 0, chunks: 0) })
        #expect(try await metadata.devicesToErase(deletedBy: clock.now() - 1, limit: 10).isEmpty)
        try await deleteAnother()
        #expect(try remembered() == 2, "the last two")
        #expect(try await metadata.authenticateDevice(credential: first.credential) == .unknown, "refused all the same")
        await metadata.close()
    }
}
