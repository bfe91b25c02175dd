import CollectorMaintenance
import Foundation
import Glibc
import RecordStore
import SQLiteRecordStore
import SQLiteStoreTestKit
import StoreTestKit
import TestKit
import Testing

/// SQLite files; on a small file system of their own where this process may mount one.
final class SQLiteEngine: RecordStoreEngine {
    private(set) var store: any RecordStore
    let clock = ManualStoreClock()
    private var directory: TemporaryDirectory
    private let mounted: TemporaryDirectory?
    private let spare: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
        spare = try TemporaryDirectory()
        let isSmall = geteuid() == 0 && mount("tmpfs", directory.path, "tmpfs", 0, "size=24m") == 0
        mounted = isSmall ? directory : nil
        store = try Self.open(directory, clock)
    }

    private static func open(_ directory: TemporaryDirectory, _ clock: ManualStoreClock) throws -> any RecordStore {
        var configuration = SQLiteRecordStore.Configuration()
        configuration.readyFreeBytes = 0
        return try SQLiteRecordStore.open(directory, clock: clock, configuration: configuration)
    }

    /// A copy of the files as they lie while the store is open.
    func crash() async throws {
        let (former, killed) = (store, directory)
        directory = try killed.copy()
        store = try Self.open(directory, clock)
        await former.shutDown()
    }

    func restart() async throws {
        await store.shutDown()
        store = try Self.open(directory, clock)
    }

    func fillDisk() async throws -> Bool {
        guard mounted === directory else { return false }
        _ = FileManager.default.createFile(atPath: filler, contents: nil)
        let file = try FileHandle(forWritingTo: URL(filePath: filler))
        defer { try? file.close() }
        // In smaller and smaller pieces, until not one byte fits.
        for size in [1 << 20, 4096, 1] {
            let piece = Data(count: size)
            while (try? file.write(contentsOf: piece)) != nil {}
        }
        return true
    }

    func freeDisk() async throws { try FileManager.default.removeItem(atPath: filler) }

    private var filler: String { directory.path + "/filler" }

    func restored() async throws -> (any RecordStore)? {
        let (backup, target) = (spare.path + "/backup", spare.path + "/restored")
        let writer = try StoreBackup(
            of: store, directory: directory.path, output: backup, clock: clock, logger: quietLogger)
        _ = try await writer.write()
        _ = try StoreRestore(from: .directory(backup), to: target, clock: clock).restore()
        return try SQLiteRecordStore.open(directory: target, clock: clock, logger: quietLogger)
    }

    func close() async {
        await store.shutDown()
        if let mounted { umount2(mounted.path, Int32(MNT_DETACH)) }
    }
}
