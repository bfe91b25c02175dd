/// The present conditions that transmission depends on. What cannot be determined is `nil` or unknown, never guessed.
package struct DeviceConditions: Equatable, Sendable {
    /// The class of the default route's interface; `offline` without a default route.
    package var network: WireNetworkClass = .unknown
    /// The name of the Wi-Fi network, at most 32 bytes in any encoding; `nil` on other networks, or if it is unknown.
    package var ssid: [UInt8]?
    /// Whether the connection is billed by volume.
    package var metered: Bool?
    package var roaming: Bool?
    /// The battery level in ten-thousandths; `nil` without a battery.
    package var batteryLevel: UInt32?
    /// Whether the machine has mains power. A machine without a battery has.
    package var externalPower: Bool?
    /// Whether the machine stalls for lack of processor, memory or disk. Work that can wait should then wait.
    package var stalled: Bool?

    package init() {}
}

/// Reports the present conditions. This is the port between the decision to send and the operating system.
///
/// `current()` is cheap, may repeat an answer for a few seconds, never blocks on a network, and is safe from any
/// thread.
package protocol ConditionsSource: Sendable {
    func current() -> DeviceConditions
}

/// The program's own costs that the operating system does not know. Like all figures of `SelfCost`, they count from the
/// program's start.
package struct SelfFigures: Equatable, Sendable {
    /// Bytes of compressed bodies.
    package var sentBytes: UInt64?
    /// Bytes of pages written to the queue's file and its WAL.
    package var queueWrittenBytes: UInt64?
    package var recordsMade: UInt64?
    /// Records dropped for any reason.
    package var recordsLost: UInt64?
    /// `nil` if the device keeps to its intervals.
    package var slowdown: WireSlowdown?

    package init() {}
}

/// Reports the present figures. Cheap, and safe from any thread.
package protocol SelfFiguresSource: Sendable {
    func selfFigures() -> SelfFigures
}

extension WireSelfCost {
    /// Adds the figures that the operating system does not know. Unknown figures stay absent.
    package mutating func add(_ figures: SelfFigures) {
        if let bytes = figures.sentBytes { sentBytes = bytes }
        if let bytes = figures.queueWrittenBytes { queueWrittenBytes = bytes }
        if let count = figures.recordsMade { recordsMade = count }
        if let count = figures.recordsLost { recordsLost = count }
        if let slowdown = figures.slowdown { self.slowdown = slowdown }
    }
}
