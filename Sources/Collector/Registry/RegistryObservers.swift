import Synchronization
import WireModel

/// Whoever wants to know at once what this collector or another one of its registry has changed, such as the intake
/// from a message broker, which tells devices of their commands.
///
/// Safe from any thread.
package final class RegistryObservers: Sendable {
    private let observers = Mutex<[@Sendable (RegistryNews) -> Void]>([])

    /// - Parameter observer: is called after each change, from any thread, also several times for one change. It must
    ///   return at once. A change that it hears of is committed, and reads see it.
    package func add(_ observer: @escaping @Sendable (RegistryNews) -> Void) {
        observers.withLock { $0.append(observer) }
    }

    func notify(_ news: RegistryNews) {
        guard news != .changes([]) else { return }
        for observer in observers.withLock({ $0 }) { observer(news) }
    }
}
