import Foundation
import Glibc
import Testing
import WireModel

@testable import LogStore

@Suite struct ReadOnlyDirectoryTests {
    /// A file system of its own, which can be made read-only under a program that writes.
    private final class Disk: Sendable {
        let path: String

        init() throws {
            path =
                FileManager.default.temporaryDirectory.appendingPathComponent(
                    "log-store-read-only-\(UUID().uuidString)"
                ).path
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            try #require(mount("tmpfs", path, "tmpfs", 0, "size=4m") == 0)
        }

        deinit {
            umount2(path, Int32(MNT_DETACH))
            try? FileManager.default.removeItem(atPath: path)
        }

        func set(readOnly: Bool) throws {
            try #require(mount("tmpfs", path, "tmpfs", UInt(MS_REMOUNT) | (readOnly ? UInt(MS_RDONLY) : 0), nil) == 0)
        }
    }

    @Test(.enabled(if: getuid() == 0, "needs root and mount(8)"))
    func
        `A directory that cannot be written stops nobody; losses are counted, and reported once it can be written`()
        async throws
    {
        let disk = try Disk()
        try disk.set(readOnly: true)
        var configuration = LogStore.Configuration(directory: "\(disk.path)/logs", applicationName: "test")
        configuration.ringBytes = 0
        let store = try LogStore(configuration)
        store.error("lost")
        store.information("lost")
        let delivery = store.deliver([LogEntry(.warning, "lost")])
        #expect(delivery.lost == 1 && delivery.reason?.contains("\(disk.path)/logs") == true && !delivery.isTransient)
        #expect(store.status.failure?.code == .io)
        #expect(store.status.dropped == [.unwritable: LogLevelCounts(error: 1, warning: 1, information: 1)])
        try disk.set(readOnly: false)
        store.error("kept")
        #expect(store.status.failure == nil)
        await store.close()
        let log = try WrittenLog(store.directory)
        #expect(log.faults.isEmpty && log.lines.map(\.message) == ["lines lost", "kept"])
        #expect(log.lines.first?.metadata == "error=1 information=1 unwritable=3 warning=1")
        #expect(
            try store.directory.readState()?.dropped == [
                .unwritable: LogLevelCounts(error: 1, warning: 1, information: 1)
            ])
    }
}
