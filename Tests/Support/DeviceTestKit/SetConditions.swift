import Synchronization
import WireModel

/// Conditions as a test sets them.
package final class SetConditions: ConditionsSource {
    private let conditions = Mutex(DeviceConditions())

    package init() {}

    package func current() -> DeviceConditions { conditions.withLock { $0 } }

    package func set(_ change: (inout DeviceConditions) -> Void) { conditions.withLock { change(&$0) } }
}
