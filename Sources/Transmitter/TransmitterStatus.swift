import WireModel

/// What the transmitter is doing and how it went, for people and for `status --json`. Times are microseconds since 1970 by the device's clock.
package struct TransmitterStatus: Codable, Equatable, Sendable {
    package enum State: String, Codable, Sendable {
        case starting
        case idle
        case sending
        /// Waits after a failure; `reason` says which.
        case backingOff = "backing-off"
        /// Something outside has to change; `reason` says what.
        case holding
        case stopped
    }

    package var state: State = .starting
    /// Why it backs off or holds.
    package var reason: String?
    package var device: String?
    package var organization: String?
    package var lastSuccess: Int64?
    package var lastFailure: Int64?
    package var lastFailureReason: String?
    /// Wall time of the next attempt, as near as it is known.
    package var nextAttempt: Int64?
    package var requests: UInt64 = 0
    /// Compressed bytes of bodies sent.
    package var sentBytes: UInt64 = 0
    /// Records removed from the queue by acknowledgement since the program started, by stream.
    package var acknowledged: [String: UInt64] = [:]
    /// The profile revision the collector last named.
    package var newestProfileRevision: UInt64 = 0

    package init() {}
}
