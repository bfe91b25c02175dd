import CollectorStore
import Foundation
import Logging
import StoreTestKit
import Synchronization
import TestKit

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

let quietLogger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

extension SQLiteRecordStore {
    static func open(
        _ directory: TemporaryDirectory, clock: ManualStoreClock = ManualStoreClock(),
        configuration: Configuration = Configuration()
    ) throws -> SQLiteRecordStore {
        try open(directory: directory.path, clock: clock, configuration: configuration, logger: quietLogger)
    }
}
