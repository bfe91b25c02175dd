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
/// `current()` is cheap (it may answer from the last few seconds), never blocks on a network, and is safe from any thread.
package protocol ConditionsSource: Sendable {
    func current() -> DeviceConditions
}
