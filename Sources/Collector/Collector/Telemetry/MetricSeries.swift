import Synchronization

/// The series of one metric, by what tells them apart; each is made when it is first asked for. Who uses it keeps the values of the key few. Safe
/// from any thread.
final class MetricSeries<Key: Hashable & Sendable, Handle: Sendable>: Sendable {
    private let made = Mutex<[Key: Handle]>([:])
    private let make: @Sendable (Key) -> Handle

    init(_ make: @escaping @Sendable (Key) -> Handle) {
        self.make = make
    }

    subscript(_ key: Key) -> Handle {
        made.withLock { made in
            if let known = made[key] { return known }
            let new = make(key)
            made[key] = new
            return new
        }
    }
}
