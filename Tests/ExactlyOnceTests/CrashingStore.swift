import Foundation
import Logging
import RecordStore
import SQLiteRecordStore
import StoreTestKit
import Synchronization
import WireModel

/// A collector's store that can die: what a killed process leaves on disk is opened anew.
protocol CrashingStore: AnyObject {
    var store: any RecordStore { get }
    func crash() async throws
    /// A day passes at the collector.
    func dayPasses()
    func close() async
}

/// The real engine, over files. A crash opens a copy of its directory as it lies while the store is open, and goes on
/// with the copy.
final class CrashingSQLiteStore: CrashingStore {
    final class DayClock: StoreClock {
        private let time = Mutex<Int64>(1_790_000_000_000_000)
        func now() -> Int64 { time.withLock { $0 } }
        func advance(by microseconds: Int64) { time.withLock { $0 += microseconds } }
    }

    private(set) var store: any RecordStore
    private var directory: URL
    private let parent: URL
    private let clock = DayClock()
    private var lives = 0

    init(parent: URL) throws {
        self.parent = parent
        directory = parent.appending(path: "collector-0")
        store = try Self.open(directory, clock)
    }

    private static func open(_ directory: URL, _ clock: DayClock) throws -> any RecordStore {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        return try SQLiteRecordStore.open(
            directory: directory.path, clock: clock, logger: Logger(label: "store") { _ in SwiftLogNoOpLogHandler() })
    }

    func crash() async throws {
        lives += 1
        let next = parent.appending(path: "collector-\(lives)")
        try FileManager.default.copyItem(at: directory, to: next)
        let former = (store, directory)
        store = try Self.open(next, clock)
        directory = next
        await former.0.shutDown()
        try FileManager.default.removeItem(at: former.1)
    }

    func dayPasses() { clock.advance(by: 86_400_000_000) }

    /// The directory, for what reads it beside the store.
    var path: String { directory.path }

    func close() async {
        await store.shutDown()
        try? FileManager.default.removeItem(at: directory)
    }
}

/// The reference in memory, its rules whole or one of them broken.
final class CrashingMemoryStore: CrashingStore {
    private let memory: InMemoryRecordStore
    var store: any RecordStore { memory }

    init(bug: InMemoryRecordStore.PlantedBug? = nil) { memory = InMemoryRecordStore(bug: bug) }

    func crash() { memory.crash() }
    func dayPasses() {}
    func close() {}
}
