import Dispatch
import Synchronization
import WireModel

/// Time for rates and waits. Nobody can set it: the time of day can step back, and whoever was admitted before the step would then have to
/// wait as long as the step.
enum Uptime {
    /// Since the machine started, suspension not counted.
    static func microseconds() -> Int64 { Int64(clamping: DispatchTime.now().uptimeNanoseconds / 1000) }
}

/// How often a device may ask: so many requests a second on average, and twice as many at once. A program that has gone wild is held off before
/// anything of its request is read; a device that drains its backlog, one request after the other, is not meant.
///
/// The generic cell rate algorithm: of each device one time is kept. Safe from any thread.
final class RequestRate: Sendable {
    /// Devices that are remembered. When there are more, those go that owe nothing.
    private static let remembered = 65_536

    /// Microseconds between two requests on average.
    private let spacing: Int64
    /// How far ahead of its pace a device may be.
    private let tolerance: Int64
    /// When a device's next request is due by its pace.
    private let due = Mutex<[DeviceID: Int64]>([:])

    init(perSecond: Int) {
        spacing = max(1, 1_000_000 / Int64(perSecond))
        tolerance = 2_000_000
    }

    /// Takes a request into account. - Parameter now: `Uptime`.
    /// - Returns: `nil`, or how long it has to wait, microseconds; it does not count then.
    func admit(_ device: DeviceID, at now: Int64) -> Int64? {
        due.withLock { due in
            if due[device] == nil, due.count >= Self.remembered {
                due = due.filter { $0.value > now }
                // All of them busy: the newcomer is let in unremembered.
                if due.count >= Self.remembered { return nil }
            }
            // No pace leads further ahead than this. Should time go back all the same, the wait is two seconds and not as long as the step.
            let expected = min(max(due[device] ?? now, now), now + tolerance + spacing)
            due[device] = expected
            guard expected - now <= tolerance else { return expected - now - tolerance }
            due[device] = expected + spacing
            return nil
        }
    }
}
