import Foundation
import Glibc
import Testing
import WireModel

@testable import LogStore

@Suite struct FullDiskTests {
    /// A file system of a few megabytes.
    private final class SmallDisk: Sendable {
        let path: String

        init() throws {
            path =
                FileManager.default.temporaryDirectory.appendingPathComponent("log-store-disk-\(UUID().uuidString)")
                .path
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            try #require(mount("tmpfs", path, "tmpfs", 0, "size=4m") == 0)
        }

        deinit {
            umount2(path, Int32(MNT_DETACH))
            try? FileManager.default.removeItem(atPath: path)
        }

        func fill() throws {
            let descriptor = open("\(path)/filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
            defer { close(descriptor) }
            for size in [1 << 16, 512] {
                let zeros = [UInt8](repeating: 0, count: size)
                while write(descriptor, zeros, size) == size {}
            }
        }

        func empty() { unlink("\(path)/filler") }
    }

    @Test(.enabled(if: getuid() == 0, "needs root and mount(8): a small tmpfs is filled to its last byte"))
    func `On a full disk logging goes on, what is lost is counted, and a line tells of it when there is room`()
        async throws
    {
        let disk = try SmallDisk()
        var configuration = LogStore.Configuration(directory: "\(disk.path)/logs", applicationName: "test")
        configuration.ringBytes = 0
        let store = try LogStore(configuration)
        var logged = LogLevelCounts()
        func log(_ count: Int) {
            for number in 0..<count {
                let level: LogLevel = number % 50 == 0 ? .error : .information
                store.log(level, "line \(logged.total) \(String(repeating: "x", count: number % 700))")
                logged[level] += 1
            }
            store.flush()
        }
        log(200)
        #expect(store.status.failure == nil)
        try disk.fill()
        log(1000)
        let full = store.status
        #expect(full.failure?.code == .diskFull)
        #expect((full.dropped[.diskFull]?.total ?? 0) > 500 && (full.dropped[.diskFull]?.error ?? 0) > 0)
        #expect(full.waiting.total == 0)
        disk.empty()
        log(200)
        #expect(store.status.failure == nil)
        await store.close()

        let log = try WrittenLog(StoreDirectory(path: configuration.directory))
        #expect(log.faults.isEmpty, "no part of a line is in the file")
        let notes = log.lines.filter { $0.category == "log.store" }
        let dropped = try #require(store.status.dropped[.diskFull])
        #expect(
            notes.count == 1
                && notes[0].metadata
                    == "disk-full=\(dropped.total) error=\(dropped.error) information=\(dropped.information)"
        )
        var accounted = dropped
        for line in log.lines where line.category != "log.store" { accounted[line.level] += 1 }
        #expect(accounted == logged)
    }
}
