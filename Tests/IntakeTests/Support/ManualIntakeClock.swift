import Synchronization

@testable import Intake

/// A clock that tests set.
final class ManualIntakeClock: Sendable {
    private let milliseconds = Mutex<Int64>(1_795_305_088_000)

    func advance(milliseconds: Int64) { self.milliseconds.withLock { $0 += milliseconds } }

    var clock: IntakeClock {
        IntakeClock(
            wallMicroseconds: { self.milliseconds.withLock { $0 } * 1000 },
            bootMilliseconds: { self.milliseconds.withLock { $0 } })
    }
}
