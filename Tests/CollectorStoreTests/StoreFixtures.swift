import CollectorStore
import Foundation
import Logging
import Synchronization
import WireModel

/// A clock that stands until it is moved.
final class ManualStoreClock: StoreClock {
    private let time: Mutex<Int64>

    init(_ time: Int64 = ManualStoreClock.start) { self.time = Mutex(time) }

    func now() -> Int64 { time.withLock { $0 } }
    func advance(days: Int64) { time.withLock { $0 += days * 86_400_000_000 } }
    func advance(seconds: Int64) { time.withLock { $0 += seconds * 1_000_000 } }

    /// 2026-03-01T12:00:00Z.
    static let start: Int64 = 1_772_366_400_000_000
}

/// A machine's count of time that goes along with a wall clock until that is set.
final class ManualBootClock: BootClock {
    let bootID: String
    private let clock: ManualStoreClock
    private let offset: Mutex<Int64>

    init(_ clock: ManualStoreClock, bootID: String = "boot") {
        self.clock = clock
        self.bootID = bootID
        offset = Mutex(clock.now())
    }

    func sinceBoot() -> Int64 { clock.now() - offset.withLock { $0 } }

    /// Sets the wall clock: no time passes.
    func setWallClock(forwardByDays days: Int64) {
        clock.advance(days: days)
        offset.withLock { $0 += days * 86_400_000_000 }
    }
}

/// A directory that goes away with it.
final class TemporaryDirectory: Sendable {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.appendingPathComponent("collector-store-\(UUID())").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}

let quietLogger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

extension SQLiteRecordStore {
    static func open(
        _ directory: TemporaryDirectory, clock: ManualStoreClock = ManualStoreClock(),
        configuration: Configuration = Configuration()
    ) throws -> SQLiteRecordStore {
        try open(directory: directory.path, clock: clock, configuration: configuration, logger: quietLogger)
    }
}

extension RecordStore {
    /// One part's answer.
    func append(_ part: BatchPart, from device: DeviceID) async -> PartAnswer {
        await append([part], from: device, receivedAt: ManualStoreClock.start)[0]
    }

    /// Sends all a device holds and lets it apply the answer.
    @discardableResult
    func drain(_ device: inout ScriptedDevice, parts size: Int = .max) async throws -> PartAnswer? {
        var last: PartAnswer?
        while let part = device.part(size) {
            let answer = await append(part, from: device.device)
            last = answer
            guard device.apply(answer) == .remove else { break }
        }
        return last
    }

    func allRecords(of device: DeviceID, stream: StreamName, pageSize: Int = 7) async throws -> [StoredRecord] {
        var found: [StoredRecord] = []
        var cursor: String?
        repeat {
            let page = try await records(
                of: device, stream: stream, kind: nil, module: nil, before: cursor, limit: pageSize)
            found += page.records
            cursor = page.next
        } while cursor != nil
        return found
    }
}
