import Dispatch
import Synchronization
import WireModel

/// How many bodies and how many of their bytes are in memory at a time. Full means 429, before anything is read.
package final class IngestBudget: Sendable {
    private struct Used {
        var bodies = 0
        var bytes = 0
        /// Devices with a body in memory.
        var bodiesOf: [DeviceID: Int] = [:]
        var slots = RetrySlots()
    }

    package let maximumBodies: Int
    /// A device sends one request at a time; one that opens many and lets them trickle must not keep the others out.
    package let maximumBodiesPerDevice: Int
    package let maximumBytes: Int
    private let used = Mutex(Used())

    package init(maximumBodies: Int = 256, maximumBodiesPerDevice: Int = 16, maximumBytes: Int = 256 * 1024 * 1024) {
        self.maximumBodies = maximumBodies
        self.maximumBodiesPerDevice = maximumBodiesPerDevice
        self.maximumBytes = maximumBytes
    }

    /// What is in memory at this moment.
    var load: (bodies: Int, bytes: Int) { used.withLock { ($0.bodies, $0.bytes) } }

    /// Runs `operation` with a place in the budget; gives place and bytes back when it ends, however it ends.
    /// - Parameter device: whose body it is, where that is known.
    func withPlace<Result>(for device: DeviceID?, _ operation: (inout Place) async throws -> Result) async throws -> Result {
        let now = Self.now()
        try used.withLock { used throws(Full) in
            guard used.bodies < maximumBodies else { throw .collector(wait: used.slots.next(at: now, roll: .random(in: 0...1))) }
            if let device {
                guard used.bodiesOf[device, default: 0] < maximumBodiesPerDevice else {
                    throw .device(wait: used.slots.next(at: now, roll: .random(in: 0...1)))
                }
                used.bodiesOf[device, default: 0] += 1
            }
            used.bodies += 1
        }
        var place = Place(budget: self)
        defer {
            let bytes = place.bytes
            used.withLock { used in
                used.bodies -= 1
                used.bytes -= bytes
                used.slots.served(at: Self.now())
                if let device, let left = used.bodiesOf[device] { used.bodiesOf[device] = left > 1 ? left - 1 : nil }
            }
        }
        return try await operation(&place)
    }

    /// When somebody who is refused for load shall come back, microseconds from now: nobody else is sent to the same moment.
    func retrySlot() -> Int64 {
        let now = Self.now()
        return used.withLock { $0.slots.next(at: now, roll: .random(in: 0...1)) }
    }

    private static func now() -> Int64 { Int64(clamping: DispatchTime.now().uptimeNanoseconds / 1000) }

    /// With how long to wait, microseconds.
    enum Full: Error {
        /// As many requests are in memory as the collector takes.
        case collector(wait: Int64)
        /// As many of this device as it takes of one.
        case device(wait: Int64)
    }

    /// One body's share of the budget.
    struct Place {
        private let budget: IngestBudget
        fileprivate(set) var bytes = 0

        fileprivate init(budget: IngestBudget) { self.budget = budget }

        /// Takes `count` bytes more, or throws `Full`.
        mutating func grow(by count: Int) throws {
            let taken = budget.used.withLock { used in
                guard count <= budget.maximumBytes - used.bytes else { return false }
                used.bytes += count
                return true
            }
            guard taken else { throw Full.collector(wait: budget.retrySlot()) }
            bytes += count
        }
    }
}
