import FoundationEssentials
import WireModel

/// Settings that may change while the transmitter runs: by profile, configuration, a person or a budget.
/// `Transmitter.apply` replaces all of them.
package struct TransmitterSettings: Equatable, Sendable {
    /// The longest time between two passes while something waits and nothing is urgent.
    package var transmitInterval: Duration
    /// Transmit intervals of modules that have their own, by module name. The streams are first in, first out. A
    /// module's records go when its interval is over, or earlier with those of a more frequent module. If this is
    /// empty, nobody needs to call `Transmitter.recorded`, and a pass is made every `transmitInterval`.
    package var moduleIntervals: [String: Duration] = [:]
    /// Events are not sent before they have this age by the queue's clock.
    package var eventHold: Duration
    /// The beacon interval in seconds, from which the collector derives *reporting*, *late* and *silent*; 0 for none.
    package var expectedBeaconSeconds: Int
    /// The revision of the profile in force. Sent in every batch request.
    package var profileRevision: UInt64 = 0
    /// The profile's transmission rules. The caller has validated them.
    package var rules: [WireTransmissionRule] = []
    /// Streams that send nothing, and why: what is in them waits in the queue. With all of them held no batch is sent
    /// and nobody enrolls; `Transmitter.request` still works, so that the profile can lift it.
    package var heldStreams: [StreamName: TransmissionGate.Reason] = [:]
    /// Logs use only Wi-Fi or wired networks, in addition to the rules.
    package var logsOverWiFiOnly = false
    /// Why no log is uploaded; `nil`: logs are.
    package var logHold: TransmissionGate.Reason?
    /// SHA-256 of subject public key infos, 32 bytes each. The collector's key must match one of them. Empty: any
    /// certificate from a trusted authority.
    package var pins: [Data] = []
    /// The enrollment ends. Nothing renews it: the device asks for no credential and no certificate, and does not
    /// enroll.
    package var isLeaving = false
    /// The age at which the device requests a new credential; `nil` for never.
    package var credentialLifetime: Duration? = TransmitterSettings.defaultCredentialLifetime
    /// The factor by which intervals are lengthened to keep a budget. At least 1; other values count as 1.
    package var slowdown: Double = 1

    /// 90 days.
    package static let defaultCredentialLifetime = Duration.seconds(90 * 86_400)

    package init(
        transmitInterval: Duration = .seconds(300), eventHold: Duration = .seconds(7200), expectedBeaconSeconds: Int = 0
    ) {
        self.transmitInterval = transmitInterval
        self.eventHold = eventHold
        self.expectedBeaconSeconds = expectedBeaconSeconds
    }
}
