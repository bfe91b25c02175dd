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
        /// No stream may be sent as things are; `gates` says why.
        case gated
        case stopped
    }

    package var state: State = .starting
    /// Why it backs off or holds.
    package var reason: String?
    package var device: String?
    package var organization: String?
    package var lastSuccess: Int64?
    /// Whether the last attempt reached the collector, whatever that said; `nil`: there was none yet.
    package var reached: Bool?
    package var lastFailure: Int64?
    package var lastFailureReason: String?
    /// Since when nobody, or somebody else, answers; `nil` while the collector is reached.
    package var unreachableSince: Int64?
    /// Wall time of the next attempt, as near as it is known.
    package var nextAttempt: Int64?
    package var requests: UInt64 = 0
    /// Bytes sent: compressed bodies, and the request's head as far as this program makes it.
    package var sentBytes: UInt64 = 0
    /// Records removed from the queue by acknowledgement since the program started, by stream.
    package var acknowledged: [String: UInt64] = [:]
    /// The profile revision the collector last named.
    package var newestProfileRevision: UInt64 = 0
    /// Why streams may not be sent now, by stream; empty while all may.
    package var gates: [String: String] = [:]
    /// Streams that wait because their first record alone is not taken.
    package var blocked: [String: Blocked] = [:]
    /// The collector's clock minus the device's, microseconds, give or take half a round trip; `nil` before the first answer. Noted, never a
    /// reason to refuse anything.
    package var clockOffset: Int64?
    /// The collector's incarnation, as last heard.
    package var incarnation: String?

    /// When the client certificate that is used ends; `nil` where there is none.
    package var certificateEnds: Int64?
    /// What is the matter with it; `nil`: nothing.
    package var certificateProblem: String?

    /// A record that alone is refused, and holds up its stream.
    package struct Blocked: Codable, Equatable, Sendable {
        /// What was answered last, and by whom.
        package var why: String
        /// In a row.
        package var refusals: Int

        package init(why: String, refusals: Int) {
            self.why = why
            self.refusals = refusals
        }
    }

    package init() {}
}
