import Synchronization

@testable import Intake

/// A clock that tests set.
final class ManualIntakeClock: Sendable {
    private let milliseconds = Mutex<Int64>(1_795_305_088_000)

    private let wallBack = Mutex<Int64>(0)

    /// The wall clock is behind all others from now on.
    func set(wallBackMilliseconds milliseconds: Int64) { wallBack.withLock { $0 = milliseconds } }

    func advance(milliseconds: Int64) { self.milliseconds.withLock { $0 += milliseconds } }

    var clock: IntakeClock {
        IntakeClock(
            wallMicroseconds: { (self.milliseconds.withLock { $0 } - self.wallBack.withLock { $0 }) * 1000 },
            bootMilliseconds: { self.milliseconds.withLock { $0 } },
            // The machine was started an hour before the tests begin.
            monotonicMicroseconds: { (self.milliseconds.withLock { $0 } - 1_795_301_488_000) * 1000 })
    }
}
