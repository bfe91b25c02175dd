/// What a transmission depends on, as the device finds it now. What cannot be told is `nil` or unknown, never guessed.
package struct DeviceConditions: Equatable, Sendable {
    /// Of the interface that the default route leaves by; `offline` where there is none.
    package var network: WireNetworkClass = .unknown
    /// Whether somebody pays by volume.
    package var metered: Bool?
    package var roaming: Bool?
    /// Ten-thousandths of full; `nil` without a battery.
    package var batteryLevel: UInt32?
    /// Whether a mains supply is on line; a machine without a battery has it.
    package var externalPower: Bool?
    /// Whether the machine stalls for processor, memory or disk, so that work which can wait should.
    package var stalled: Bool?

    package init() {}
}

/// Tells the conditions of the moment: the port between what decides on sending and the operating system.
///
/// `current()` is cheap (it may answer from the last few seconds), never blocks on a network, and is safe from any
/// thread.
package protocol ConditionsSource: Sendable {
    func current() -> DeviceConditions
}

/// What the program knows of its own cost that the operating system does not: since it started, as all figures of
/// `SelfCost`.
package struct SelfFigures: Equatable, Sendable {
    /// Compressed bodies.
    package var sentBytes: UInt64?
    /// Pages of the queue's file and its log.
    package var queueWrittenBytes: UInt64?
    package var recordsMade: UInt64?
    /// Dropped for whatever reason.
    package var recordsLost: UInt64?
    /// `nil`: it keeps to its intervals.
    package var slowdown: WireSlowdown?

    package init() {}
}

/// Tells the figures of the moment; cheap, and safe from any thread.
package protocol SelfFiguresSource: Sendable {
    func selfFigures() -> SelfFigures
}

extension WireSelfCost {
    /// Adds what the operating system does not know; what is not known here either stays absent.
    package mutating func add(_ figures: SelfFigures) {
        if let bytes = figures.sentBytes { sentBytes = bytes }
        if let bytes = figures.queueWrittenBytes { queueWrittenBytes = bytes }
        if let count = figures.recordsMade { recordsMade = count }
        if let count = figures.recordsLost { recordsLost = count }
        if let slowdown = figures.slowdown { self.slowdown = slowdown }
    }
}
