import CollectorStore
import Foundation
import Glibc
import Testing
import WireModel

/// On a small file system of its own; only where this process may mount one.
@Suite(.enabled(if: geteuid() == 0, "needs to mount a file system")) struct DiskFullTests {
    @Test func aFullDiskAnswersUnavailableKeepsTheMarksAndRecovers() async throws {
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
        let report = try directory.verify()
        #expect(report.isWhole && report.records == device.last, "\(report.findings)")
    }
}
