import Logging
import RecordStore
import Synchronization

/// A machine's count of time that goes along with a wall clock until that is set.
package final class ManualBootClock: BootClock {
    package let bootID: String
    private let clock: ManualStoreClock
    private let offset: Mutex<Int64>

    package init(_ clock: ManualStoreClock, bootID: String = "boot") {
        self.clock = clock
        self.bootID = bootID
        offset = Mutex(clock.now())
    }

    package func sinceBoot() -> Int64 { clock.now() - offset.withLock { $0 } }

    /// Sets the wall clock: no time passes.
    package func setWallClock(forwardByDays days: Int64) {
        clock.advance(days: days)
        offset.withLock { $0 += days * 86_400_000_000 }
    }
}

/// Writes nothing.
package let quietLogger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
