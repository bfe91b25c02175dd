import CollectorTunables
import OTLP
import Synchronization
import WireModel

/// Limits the number of request bodies in memory, and their bytes. Over the limit a request gets 429 before its body is
/// read. Hummingbird limits only each single body.
///
/// Devices, enrollments, senders of OTLP and people each have places of their own. So neither a fleet that sends at
/// once, nor somebody who enrolls many devices with a token, keeps administrators out. Senders of OTLP have three
/// quarters of the bytes at most, because one request of them may be large.
package final class IngestBudget: Sendable {
    /// A group of senders that shares places.
    enum Share: Equatable {
        case device(DeviceID)
        case enrollment
        case people
        /// A sender of OTLP, by the id of its token.
        case otlp(token: String)
    }

    private struct Used {
        var bodies = 0
        var enrollments = 0
        var peoples = 0
        var otlp = 0
        var bytes = 0
        /// Bytes of senders of OTLP, among `bytes`.
        var otlpBytes = 0
        /// Devices with a body in memory.
        var bodiesOf: [DeviceID: Int] = [:]
        /// Tokens of senders of OTLP with a body in memory.
        var bodiesOfToken: [String: Int] = [:]
        var slots = RetrySlots()

        var all: Int { bodies + enrollments + peoples + otlp }
    }

    /// The most bodies for devices.
    package let maximumBodies: Int
    /// A device sends one request at a time. One that opens many slow ones must not lock others out.
    package let maximumBodiesPerDevice: Int
    /// The most bodies for enrollments, and the same number for people and for senders of OTLP.
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

    /// An empty budget with the same numbers of bodies.
    package func with(maximumBytes: Int) -> IngestBudget {
        IngestBudget(
            maximumBodies: maximumBodies, maximumBodiesPerDevice: maximumBodiesPerDevice,
            maximumOtherBodies: maximumOtherBodies, maximumBytes: maximumBytes)
    }

    /// The bodies and bytes in memory now.
    var load: (bodies: Int, bytes: Int) { used.withLock { ($0.all, $0.bytes) } }

    /// The greatest load of all groups together.
    var maximumLoad: Int { maximumBodies + 3 * maximumOtherBodies }

    /// A sixteenth of the bytes is reserved for enrollments and people.
    private func maximumBytes(of share: Share) -> Int {
        switch share {
        case .device, .otlp: maximumBytes - maximumBytes / 16
        case .enrollment, .people: maximumBytes
        }
    }

    /// The most bytes of all senders of OTLP.
    var maximumOTLPBytes: Int { maximumBytes - maximumBytes / 4 }

    /// Bytes that an element of a request takes once it is decoded, about.
    static let otlpElementBytes = 128

    /// The limits of one request of OTLP. The protocol's own, or less: the largest request has room if no other sender
    /// of OTLP has any. A larger one would be told to wait for ever.
    var otlpLimits: OTLPLimits {
        var limits = OTLPLimits()
        limits.bodyBytes = min(limits.bodyBytes, maximumOTLPBytes / 2)
        limits.elements = min(limits.elements, (maximumOTLPBytes - limits.bodyBytes) / Self.otlpElementBytes)
        return limits
    }

    /// Runs `operation` with a place in the budget, and returns place and bytes when it ends in any way.
    /// - Parameter share: the body's sender.
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
            case .otlp(let token):
                guard used.bodiesOfToken[token, default: 0] < min(maximumOtherBodies, Tunables.OTLP.bodiesPerToken)
                else { throw .token(wait: used.slots.next(at: now, roll: .random(in: 0...1))) }
                used.bodiesOfToken[token, default: 0] += 1
                used.otlp += 1
            }
        }
        var isOTLP = false
        if case .otlp = share { isOTLP = true }
        var place = Place(budget: self, maximumBytes: maximumBytes(of: share), isOTLP: isOTLP)
        defer {
            let bytes = place.bytes
            used.withLock { used in
                switch share {
                case .device(let device):
                    used.bodies -= 1
                    if let left = used.bodiesOf[device] { used.bodiesOf[device] = left > 1 ? left - 1 : nil }
                case .enrollment: used.enrollments -= 1
                case .people: used.peoples -= 1
                case .otlp(let token):
                    used.otlp -= 1
                    used.otlpBytes -= bytes
                    if let left = used.bodiesOfToken[token] {
                        used.bodiesOfToken[token] = left > 1 ? left - 1 : nil
                    }
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
        case .otlp: used.otlp < maximumOtherBodies
        }
    }

    /// The wait in microseconds for somebody refused for load. Everybody gets a different moment.
    func retrySlot() -> Int64 {
        let now = Uptime.microseconds()
        return used.withLock { $0.slots.next(at: now, roll: .random(in: 0...1)) }
    }

    /// Contains the wait in microseconds.
    enum Full: Error {
        /// The collector's limit is reached.
        case collector(wait: Int64)
        /// The limit of one device is reached.
        case device(wait: Int64)
        /// The limit of one token of senders of OTLP is reached.
        case token(wait: Int64)
    }

    /// The place of one body.
    struct Place {
        private let budget: IngestBudget
        private let maximumBytes: Int
        private let isOTLP: Bool
        fileprivate(set) var bytes = 0

        fileprivate init(budget: IngestBudget, maximumBytes: Int, isOTLP: Bool) {
            self.budget = budget
            self.maximumBytes = maximumBytes
            self.isOTLP = isOTLP
        }

        /// Adds `count` bytes, or throws `Full`.
        mutating func grow(by count: Int) throws {
            let taken = budget.used.withLock { used in
                guard count <= maximumBytes - used.bytes else { return false }
                if isOTLP {
                    guard count <= budget.maximumOTLPBytes - used.otlpBytes else { return false }
                    used.otlpBytes += count
                }
                used.bytes += count
                return true
            }
            guard taken else { throw Full.collector(wait: budget.retrySlot()) }
            bytes += count
        }
    }
}

/// Decides when senders refused for load return: one after the other, at the pace at which requests were served lately.
/// So a refused crowd does not return at once. Pure.
struct RetrySlots {
    /// The shortest wait in microseconds, like all times here.
    static let least: Int64 = 500_000
    /// The longest wait. Beyond it the measured pace is no good estimate.
    static let most: Int64 = 300_000_000
    /// The longest accepted time between two served requests, and the first estimate.
    private static let slowest: Int64 = 1_000_000
    private static let first: Int64 = 10_000

    /// The average time between two served requests.
    private(set) var spacing = first
    private var lastServed: Int64?
    /// The latest slot that was assigned.
    private var latest: Int64 = 0

    /// An admitted request has ended.
    mutating func served(at now: Int64) {
        if let lastServed {
            let interval = min(max(now - lastServed, 1), Self.slowest)
            // The mean of about the last 32.
            spacing += (interval - spacing) / 32
        }
        lastServed = now
    }

    /// - Parameter roll: a random number from 0 to 1.
    /// - Returns: how long the refused sender must wait.
    mutating func next(at now: Int64, roll: Double) -> Int64 {
        latest = min(max(latest, now + Self.least) + max(spacing, 1), now + Self.most)
        // Random within the slot, and among those that the longest wait put at the same time.
        return latest - now + Int64(Double(max(spacing, Self.least / 4)) * roll)
    }
}
