import Synchronization
import WireModel

/// How many bodies and how many of their bytes are in memory at a time. Full means 429, before more is read.
/// Hummingbird bounds each body by itself, and not what all together take.
///
/// Devices, enrollments and people each have places of their own: a fleet that sends all at once, or somebody who holds
/// an enrollment token and makes devices with it, keeps no administrator out.
package final class IngestBudget: Sendable {
    /// Who shares places.
    enum Share: Equatable {
        case device(DeviceID)
        case enrollment
        case people
    }

    private struct Used {
        var bodies = 0
        var enrollments = 0
        var peoples = 0
        var bytes = 0
        /// Devices with a body in memory.
        var bodiesOf: [DeviceID: Int] = [:]
        var slots = RetrySlots()

        var all: Int { bodies + enrollments + peoples }
    }

    /// Of devices.
    package let maximumBodies: Int
    /// A device sends one request at a time; one that opens many and lets them trickle must not keep the others out.
    package let maximumBodiesPerDevice: Int
    /// Of enrollments, and again as many of people.
    package let maximumOtherBodies: Int
    package let maximumBytes: Int
    private let used = Mutex(Used())

    package init(
        maximumBodies: Int = 256, maximumBodiesPerDevice: Int = 16, maximumOtherBodies: Int = 64,
        maximumBytes: Int = 256 * 1024 * 1024
    ) {
        self.maximumBodies = maximumBodies
        self.maximumBodiesPerDevice = maximumBodiesPerDevice
        self.maximumOtherBodies = maximumOtherBodies
        self.maximumBytes = maximumBytes
    }

    /// An empty one with the same numbers of bodies.
    package func with(maximumBytes: Int) -> IngestBudget {
        IngestBudget(
            maximumBodies: maximumBodies, maximumBodiesPerDevice: maximumBodiesPerDevice,
            maximumOtherBodies: maximumOtherBodies,
            maximumBytes: maximumBytes)
    }

    /// What is in memory at this moment.
    var load: (bodies: Int, bytes: Int) { used.withLock { ($0.all, $0.bytes) } }

    /// Of all shares together.
    var maximumLoad: Int { maximumBodies + 2 * maximumOtherBodies }

    /// Of the bytes, a sixteenth is left to others than devices.
    private func maximumBytes(of share: Share) -> Int {
        if case .device = share { maximumBytes - maximumBytes / 16 } else { maximumBytes }
    }

    /// Runs `operation` with a place in the budget; gives place and bytes back when it ends, however it ends.
    /// - Parameter share: whose body it is.
    func withPlace<Result>(for share: Share, _ operation: (inout Place) async throws -> Result) async throws -> Result {
        let now = Uptime.microseconds()
        try used.withLock { used throws(Full) in
            guard hasPlace(for: share, used) else {
                throw .collector(wait: used.slots.next(at: now, roll: .random(in: 0...1)))
            }
            switch share {
            case .device(let device):
                guard used.bodiesOf[device, default: 0] < maximumBodiesPerDevice else {
                    throw .device(wait: used.slots.next(at: now, roll: .random(in: 0...1)))
                }
                used.bodiesOf[device, default: 0] += 1
                used.bodies += 1
            case .enrollment: used.enrollments += 1
            case .people: used.peoples += 1
            }
        }
        var place = Place(budget: self, maximumBytes: maximumBytes(of: share))
        defer {
            let bytes = place.bytes
            used.withLock { used in
                switch share {
                case .device(let device):
                    used.bodies -= 1
                    if let left = used.bodiesOf[device] { used.bodiesOf[device] = left > 1 ? left - 1 : nil }
                case .enrollment: used.enrollments -= 1
                case .people: used.peoples -= 1
                }
                used.bytes -= bytes
                used.slots.served(at: Uptime.microseconds())
            }
        }
        return try await operation(&place)
    }

    private func hasPlace(for share: Share, _ used: Used) -> Bool {
        switch share {
        case .device: used.bodies < maximumBodies
        case .enrollment: used.enrollments < maximumOtherBodies
        case .people: used.peoples < maximumOtherBodies
        }
    }

    /// When somebody who is refused for load shall come back, microseconds from now: nobody else is sent to the same
    /// moment.
    func retrySlot() -> Int64 {
        let now = Uptime.microseconds()
        return used.withLock { $0.slots.next(at: now, roll: .random(in: 0...1)) }
    }

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
        private let maximumBytes: Int
        fileprivate(set) var bytes = 0

        fileprivate init(budget: IngestBudget, maximumBytes: Int) {
            self.budget = budget
            self.maximumBytes = maximumBytes
        }

        /// Takes `count` bytes more, or throws `Full`.
        mutating func grow(by count: Int) throws {
            let taken = budget.used.withLock { used in
                guard count <= maximumBytes - used.bytes else { return false }
                used.bytes += count
                return true
            }
            guard taken else { throw Full.collector(wait: budget.retrySlot()) }
            bytes += count
        }
    }
}

/// When those who are refused for load shall come back: one after the other, at the pace at which requests have been
/// served lately, so that a herd that was turned away does not return as one. Pure.
struct RetrySlots {
    /// The shortest wait, microseconds, like all times here.
    static let least: Int64 = 500_000
    /// The longest wait: beyond it the measured pace is no good guess.
    static let most: Int64 = 300_000_000
    /// Time between two served requests: the longest that is believed, and the first guess.
    private static let slowest: Int64 = 1_000_000
    private static let first: Int64 = 10_000

    /// Between two requests that were served, on average.
    private(set) var spacing = first
    private var lastServed: Int64?
    /// The latest slot that was given.
    private var latest: Int64 = 0

    /// Notes that an admitted request has ended.
    mutating func served(at now: Int64) {
        if let lastServed {
            let interval = min(max(now - lastServed, 1), Self.slowest)
            // The mean of about the last 32.
            spacing += (interval - spacing) / 32
        }
        lastServed = now
    }

    /// - Parameter roll: a random number from 0 to 1.
    /// - Returns: how long the refused sender is to wait.
    mutating func next(at now: Int64, roll: Double) -> Int64 {
        latest = min(max(latest, now + Self.least) + max(spacing, 1), now + Self.most)
        // Within the slot, and among those whom the bound has put at the same time.
        return latest - now + Int64(Double(max(spacing, Self.least / 4)) * roll)
    }
}
