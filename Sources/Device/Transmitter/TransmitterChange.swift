import WireModel

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
    /// Nobody, or somebody else, answers since then; said once until the collector is reached again. The stamp tells, with the time since
    /// boot, when an allowed offline time is over whatever the wall clock does.
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
