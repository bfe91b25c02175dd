import Foundation
import Glibc
import LogArchive
import RecordStore
import Registry
import RegistryTestKit
import SQLiteRecordStore
import SQLiteStoreTestKit
import StoreTestKit
import TestKit
import Testing
import WireModel

/// On a small file system of its own; only where this process may mount one.
@Suite(.enabled(if: geteuid() == 0, "needs to mount a file system")) struct DiskFullTests {
    @Test func `A full disk answers unavailable, keeps the marks and recovers`() async throws {
        let directory = try TemporaryDirectory()
        guard mount("tmpfs", directory.path, "tmpfs", 0, "size=1m") == 0 else { return }
        defer { umount2(directory.path, Int32(MNT_DETACH)) }
        var configuration = SQLiteRecordStore.Configuration()
        configuration.readyFreeBytes = 0
        let store = try SQLiteRecordStore.open(directory, configuration: configuration)
        var device = ScriptedDevice()
        var stored: UInt64 = 0
        var refused: PartAnswer?
        while refused == nil {
            device.produce(20, bodyBytes: 1000)
            let answer = await store.append(try #require(device.part()), from: device.device)
            if answer.outcome == .stored {
                stored = answer.mark.number
                device.apply(answer)
            } else {
                refused = answer
            }
            try #require(stored < 5000)
        }
        let answer = try #require(refused)
        #expect(answer.outcome == .unavailable && answer.detail.contains("disk-full"))
        #expect(answer.mark == device.mark && answer.mark.number == stored)
        #expect(await store.readiness() != .ready)
        #expect(try await store.balance(of: device.device).first?.storedRows == stored)

        #expect(mount("tmpfs", directory.path, "tmpfs", UInt(MS_REMOUNT), "size=8m") == 0)
        let recovered = await store.append(try #require(device.part()), from: device.device)
        #expect(recovered.outcome == .stored && recovered.mark.stored == device.last)
        #expect(await store.readiness() == .ready)
        await store.shutDown()
        let report = try await directory.verify()
        #expect(report.isWhole && report.records == device.last, "\(report.findings)")
    }

    @Test func `What uses up the room can be removed from a full disk`() async throws {
        let directory = try TemporaryDirectory()
        guard mount("tmpfs", directory.path, "tmpfs", 0, "size=48m") == 0 else { return }
        defer { umount2(directory.path, Int32(MNT_DETACH)) }
        let clock = ManualStoreClock()
        var configuration = LogArchive.Configuration()
        configuration.leastFreeBytes = 0
        let archive = try LogArchive.open(
            directory: directory.path, clock: clock, configuration: configuration, logger: quietLogger)
        let store = try SQLiteRecordStore.open(directory, clock: clock)
        let logs = LogDevice()
        try await logs.upload([try LogDevice.chunk(segment: 1, 1...50)], to: archive)
        var devices: [ScriptedDevice] = []
        for _ in 0..<300 {
            var device = ScriptedDevice()
            device.produce(3)
            try await store.drain(&device)
            devices.append(device)
        }
        let watch = DiskWatch(
            directory: directory.path, lowBytes: 0,
            notices: try NoticeService(directory: directory.path, clock: clock, logger: quietLogger)
        )
        func fill() throws {
            let descriptor = open(directory.path + "/filler", O_WRONLY | O_CREAT | O_APPEND, 0o600)
            try #require(descriptor >= 0)
            let page = [UInt8](repeating: 1, count: 4096)
            while write(descriptor, page, page.count) > 0 {}
            close(descriptor)
        }
        func delete() async throws -> LogDeletion? {
            let plan = try await archive.metadata.deletion(LogQuery())
            return try await archive.delete(LogQuery(), confirmation: plan.confirmation, by: .commandLine)
        }
        clock.advance(days: 2)
        try fill()
        await #expect {
            try await store.drop(Partition(day: UTCDay("2026-03-01") ?? UTCDay(number: 0), stream: .sample))
        } throws: {
            ($0 as? StoreError)?.code == .diskFull
        }
        unlink(directory.path + "/filler")
        await watch.look()
        try fill()
        try await store.drop(Partition(day: UTCDay("2026-03-01") ?? UTCDay(number: 0), stream: .sample))
        #expect(!FileManager.default.fileExists(atPath: directory.path + "/reserve"))
        unlink(directory.path + "/filler")
        await watch.look()
        #expect(FileManager.default.fileExists(atPath: directory.path + "/reserve"))
        try fill()
        #expect(try await delete()?.chunks == 1)
        await store.shutDown()
        await archive.close()
        #expect(try await directory.verify().isWhole)
    }
}
