import FoundationEssentials
import WireModel

/// The transmitter's state and results, for people and for `status --json`. Times are microseconds since 1970 by the
/// device's clock.
package struct TransmitterStatus: Codable, Equatable, Sendable {
    package enum State: String, Codable, Sendable {
        case starting
        case idle
        case sending
        /// Waiting after a failure; `reason` says which.
        case backingOff = "backing-off"
        /// Something outside must change; `reason` says what.
        case holding
        /// No stream may be sent now; `gates` says why.
        case gated
        case stopped
    }

    /// The raw value is reported to programs.
    package enum Obstacle: String, Codable, Sendable {
        /// The server's key is none of those that are pinned.
        case pinMismatch = "pin-mismatch"
        /// The answer has no collector's headers.
        case notACollector = "not-a-collector"
    }

    package var state: State = .starting
    /// Why it is backing off or holding.
    package var reason: String?
    package var device: String?
    package var organization: String?
    package var lastSuccess: Int64?
    /// Whether the last attempt reached the collector, whatever its answer; `nil` before the first attempt.
    package var reached: Bool?
    /// Why the collector rejects this device or its credential; `nil` since the last request that succeeded.
    package var refusal: String?
    /// Who answered instead of the collector in the last attempt, or how it was refused; `nil` if it was reached, or
    /// nobody answered.
    package var obstacle: Obstacle?
    package var lastFailure: Int64?
    package var lastFailureReason: String?
    /// Since when nobody, or somebody else, answers; `nil` while the collector is reached.
    package var unreachableSince: Int64?
    /// The wall time of the next attempt, as far as it is known.
    package var nextAttempt: Int64?
    package var requests: UInt64 = 0
    /// Bytes of compressed bodies, and of request heads as far as this program makes them.
    package var sentBytes: UInt64 = 0
    /// Records removed from the queue by acknowledgement since the program started, by stream.
    package var acknowledged: [String: UInt64] = [:]
    /// The newest profile revision that the collector named.
    package var newestProfileRevision: UInt64 = 0
    /// Why streams may not be sent now, by stream; empty if all may.
    package var gates: [String: String] = [:]
    /// Streams that wait because their first record alone is not accepted.
    package var blocked: [String: Blocked] = [:]
    /// The collector's clock minus the device's in microseconds, accurate to half a round trip; `nil` before the first
    /// answer. For information only; nothing is refused because of it.
    package var clockOffset: Int64?
    /// The version in the collector's newest answer.
    package var collectorVersion: String?
    /// The collector's last known incarnation.
    package var incarnation: String?

    /// When the client certificate in use ends; `nil` if there is none.
    package var certificateEnds: Int64?
    /// The problem with the certificate; `nil` if there is none.
    package var certificateProblem: String?

    /// A record that is refused alone and blocks its stream.
    package struct Blocked: Codable, Equatable, Sendable {
        /// The last answer, and who gave it.
        package var why: String
        /// Consecutive refusals.
        package var refusals: Int
    }
}

/// An event between this device and its collector.
package enum TransmitterEvent: Equatable, Sendable {
    /// The news that a decided answer carried.
    case heard(CollectorNews)
    /// Enrolled for the first time or again.
    case enrolled(Enrollment)
    /// An enrollment request was answered, with any result.
    case enrollmentAnswered(succeeded: Bool, duration: Duration)
    /// The collector issued a new credential, and it is on disk.
    case credentialRotated
    /// The device was unenrolled.
    case unenrolled(DeviceID)
    /// The collector answered for the first time since the start or since an outage.
    case reached
    /// Nobody, or somebody else, answers since then. Reported once per outage. With the stamp's time since boot, the
    /// end of the allowed offline time can be determined whatever the wall clock does.
    case unreachable(since: RecordStamp, why: String)
    /// The reasons that keep streams from being sent changed: the streams that wait, and why. Empty once none waits. At
    /// the start no stream waits. An attempt that tests whether the device is really offline changes nothing.
    case gatesChanged([StreamName: TransmissionGate.Reason])
    /// The collector rejects this device. Reported once.
    case forbidden(String)
    /// The histories of device and collector diverged. This epoch is not sent any more.
    case diverged(MarkDecision.Divergence)
    /// The directory was copied from another machine. This machine enrolled as a new device and dropped the inherited
    /// records.
    case cloned(former: DeviceID)
    /// The queue began a new epoch because the histories diverged on this machine.
    case newEpoch(EpochID)
    /// The collector settled an ended epoch. What it lacks is queued again.
    case epochSettled(EpochID)
    /// The collector was restored from a backup. Its incarnation changed; the device's enrollment did not.
    case collectorRestored(former: IncarnationID, now: IncarnationID)
    /// The first record of a stream is refused, or causes server errors, by itself. If nothing else waits, recording a
    /// status record would distinguish a bad record from an outage of the collector. Reported once until the stream
    /// moves.
    case blocked(StreamName, why: String)
}

/// The collector's report beside the marks, in every answer that decided something.
package struct CollectorNews: Equatable, Sendable {
    /// The newest revision of this device's profile. If it is above the one in force, fetch it.
    package var newestProfileRevision: UInt64
    /// Repeated until the device reports their final state.
    package var commands: [WireCommand]
    /// The collector's clock in microseconds since 1970; 0 if unknown. For information only; nothing is refused because
    /// of it.
    package var serverTime: Int64
    /// The enrollment of the request, 16 bytes; empty if the collector gave none. Commands belong to it.
    package var enrollmentID: Data
    /// The newest decision on do-not-disturb; `nil` from a collector that does not know it.
    package var doNotDisturb: WireDoNotDisturb?
}
