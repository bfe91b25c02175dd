import RecordQueue
import Synchronization
import WireModel

/// A device's clocks that stand still until set otherwise: time passes, the wall clock jumps, the machine reboots.
package final class ManualRecordClock: RecordClock {
    private let stamp: Mutex<RecordStamp>

    /// - Parameters:
    ///   - wallTime: microseconds since 1970; the default lies in November 2023.
    ///   - timeSinceBoot: microseconds.
    package init(
        wallTime: Int64 = 1_700_000_000_000_000, bootID: BootID? = BootID(high: 1, low: 1),
        timeSinceBoot: UInt64 = 60_000_000
    ) {
        stamp = Mutex(RecordStamp(wallTime: wallTime, bootID: bootID, timeSinceBoot: timeSinceBoot))
    }

    package func now() -> RecordStamp { stamp.withLock { $0 } }

    /// Time passes on all clocks.
    package func advance(by duration: Duration) {
        let microseconds = Self.microseconds(duration)
        stamp.withLock {
            $0.wallTime += microseconds
            $0.timeSinceBoot += UInt64(max(0, microseconds))
        }
    }

    /// Somebody sets the wall clock, forward or (negative) back; no time passes.
    package func setWallClock(by duration: Duration) {
        stamp.withLock { $0.wallTime += Self.microseconds(duration) }
    }

    /// The machine was off for so long, and starts anew.
    /// - Parameter bootID: of the new boot; `nil` where the system has none.
    package func reboot(after duration: Duration, bootID: BootID? = .random()) {
        stamp.withLock {
            $0.wallTime += Self.microseconds(duration)
            $0.timeSinceBoot = 0
            $0.bootID = bootID
        }
    }

    private static func microseconds(_ duration: Duration) -> Int64 {
        let (seconds, attoseconds) = duration.components
        return seconds * 1_000_000 + attoseconds / 1_000_000_000_000
    }
}
