import FoundationEssentials
import WireModel

/// What the transmitter is doing and how it went, for people and for `status --json`. Times are microseconds since 1970
/// by the device's clock.
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
    /// The collector's clock minus the device's, microseconds, give or take half a round trip; `nil` before the first
    /// answer. Noted, never a reason to refuse anything.
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

/// Something changed between this device and its collector.
package enum TransmitterChange: Equatable, Sendable {
    /// Enrolled, or enrolled again.
    case enrolled(Enrollment)
    /// An enrollment was asked for and answered, by whatever.
    case enrollmentAnswered(succeeded: Bool, duration: Duration)
    /// The collector gave a new credential; it is on disk.
    case credentialRotated
    /// The device gave its enrollment up.
    case unenrolled(DeviceID)
    /// The collector answered, after it could not be reached or for the first time since the start.
    case reached
    /// Nobody, or somebody else, answers since then; said once until the collector is reached again. The stamp tells,
    /// with the time since boot, when an allowed offline time is over whatever the wall clock does.
    case unreachable(since: RecordStamp, why: String)
    /// The collector does not want this device; said once.
    case forbidden(String)
    /// The histories of device and collector are no longer one; the epoch is not sent any more.
    case diverged(MarkDecision.Divergence)
    /// The directory came from another machine: this one enrolled as a new device and dropped what it inherited.
    case cloned(former: DeviceID)
    /// The queue began a new epoch because the histories had diverged on this very machine.
    case newEpoch(EpochID)
    /// The collector has settled an ended epoch: what it has is known, and what it has not is queued anew.
    case epochSettled(EpochID)
    /// The collector was restored from a backup: it has another incarnation, the device's enrollment stays what it was.
    case collectorRestored(former: IncarnationID, now: IncarnationID)
    /// A stream's front is refused, or draws server errors, on its own. Where nothing else waits, recording a status
    /// record would tell a bad record from an
    /// outage of the collector. Said once until the stream moves.
    case blocked(StreamName, why: String)
}

/// What a collector says beside the marks, on every decided answer.
package struct CollectorNews: Equatable, Sendable {
    /// Newest revision of this device's profile; above the one that runs: fetch it.
    package var newestProfileRevision: UInt64
    /// Repeated until their final state is reported.
    package var commands: [WireCommand]
    /// The collector's clock, microseconds since 1970; 0 where it did not say. Noted, never a reason to refuse
    /// anything.
    package var serverTime: Int64
    /// The enrollment the request was sent under, 16 bytes; empty where the collector gave none. Commands belong to it.
    package var enrollmentID: Data

    package init(
        newestProfileRevision: UInt64, commands: [WireCommand] = [], serverTime: Int64 = 0, enrollmentID: Data = Data()
    ) {
        self.newestProfileRevision = newestProfileRevision
        self.commands = commands
        self.serverTime = serverTime
        self.enrollmentID = enrollmentID
    }
}

/// Hears what the transmitter learns. Calls come one after the other, from no particular task.
package protocol TransmitterDelegate: Sendable {
    /// What rode on a decided answer. Awaited before the pass goes on; should only note and wake.
    func received(_ news: CollectorNews) async
    /// Awaited before the pass goes on; should only note and wake.
    func stateChanged(_ change: TransmitterChange) async
}
