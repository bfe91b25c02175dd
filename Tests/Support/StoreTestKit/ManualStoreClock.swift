import RecordStore
import Synchronization

/// A clock that stands until it is moved.
package final class ManualStoreClock: StoreClock {
    private let time: Mutex<Int64>

    package init(_ time: Int64 = ManualStoreClock.start) { self.time = Mutex(time) }

    package func now() -> Int64 { time.withLock { $0 } }
    package func advance(days: Int64) { time.withLock { $0 += days * 86_400_000_000 } }
    package func advance(seconds: Int64) { time.withLock { $0 += seconds * 1_000_000 } }

    /// 2026-03-01T12:00:00Z.
    package static let start: Int64 = 1_772_366_400_000_000
}
