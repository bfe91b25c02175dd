import Dispatch
import Synchronization
import WireModel

/// Time for rates and waits. Nobody can set it: the time of day can step back, and whoever was admitted before the step would then have to
/// wait as long as the step.
enum Uptime {
    /// Since the machine started, suspension not counted.
    static func microseconds() -> Int64 { Int64(clamping: DispatchTime.now().uptimeNanoseconds / 1000) }
}

/// How often somebody may do something: so many times a second on average, and more at once. Of devices that ask: a program that has gone wild is
/// held off before anything of its request is read; a device that drains its backlog, one request after the other, is not meant.
///
/// The generic cell rate algorithm: of each key one time is kept. Safe from any thread.
final class RequestRate<Key: Hashable & Sendable>: Sendable {
    /// Keys that are remembered. When there are more, those go that owe nothing.
    private let remembered = 65_536

    /// Microseconds between two requests on average.
    private let spacing: Int64
    /// How far ahead of its pace one may be.
    private let tolerance: Int64
    /// When a key's next request is due by its pace.
    private let due = Mutex<[Key: Int64]>([:])

    /// - Parameter burstSeconds: what so many seconds allow may come at once.
    init(perSecond: Int, burstSeconds: Int64 = 2) {
        spacing = max(1, 1_000_000 / Int64(perSecond))
        tolerance = burstSeconds * 1_000_000
    }

    /// One at a time, and the next after so many seconds.
    init(secondsBetween: Int64) {
        spacing = secondsBetween * 1_000_000
        tolerance = 0
    }

    /// Takes a request into account. - Parameter now: `Uptime`.
    /// - Returns: `nil`, or how long it has to wait, microseconds; it does not count then.
    func admit(_ key: Key, at now: Int64) -> Int64? {
        due.withLock { due in
            if due[key] == nil, due.count >= remembered {
                due = due.filter { $0.value > now }
                // All of them busy: the newcomer is let in unremembered.
                if due.count >= remembered { return nil }
            }
            // No pace leads further ahead than this. Should time go back all the same, the wait is that burst and not as long as the step.
            let expected = min(max(due[key] ?? now, now), now + tolerance + spacing)
            due[key] = expected
            guard expected - now <= tolerance else { return expected - now - tolerance }
            due[key] = expected + spacing
            return nil
        }
    }
}
