import FoundationEssentials
import WireModel

/// What may change while the transmitter runs: by profile, configuration, a person's wish or a budget. Applied as a
/// whole with `Transmitter.apply`.
package struct TransmitterSettings: Equatable, Sendable {
    /// Greatest time between two passes while something waits and nothing is urgent.
    package var transmitInterval: Duration
    /// Transmit intervals of modules that have their own, by module name. The streams are first-in first-out, so a
    /// module's records go at the latest when its own interval is over, and sooner with those of a more frequent one.
    /// Where this is empty nobody needs to call `Transmitter.recorded`, and a pass looks at every `transmitInterval`.
    package var moduleIntervals: [String: Duration] = [:]
    /// Events are not sent before they are this old by the queue's clock.
    package var eventHold: Duration
    /// The beacon schedule the collector derives *reporting*, *late* and *silent* from; 0 = none.
    package var expectedBeaconSeconds: Int
    /// The revision the device runs; said in every batch request.
    package var profileRevision: UInt64 = 0
    /// The profile's rules on what may go when; validated by whoever took the profile.
    package var rules: [WireTransmissionRule] = []
    /// Streams that send nothing: do-not-disturb, telemetry disabled. With all of them paused no batch is sent and
    /// nobody enrolls; `Transmitter.request` still works, so that the profile can lift it.
    package var pausedStreams: Set<StreamName> = []
    /// Logs go over Wi-Fi or wired networks only, beside what the rules say.
    package var logsOverWiFiOnly = false
    /// No log is uploaded: do-not-disturb, telemetry disabled, suspended.
    package var areLogsPaused = false
    /// SHA-256 of the collector's subject public key info, 32 bytes each; any one of them has to match. Empty: any
    /// certificate that the authorities vouch for.
    package var pins: [Data] = []
    /// The device asks for a new credential when its own is this old; `nil`: never by itself.
    package var credentialLifetime: Duration? = TransmitterSettings.defaultCredentialLifetime
    /// Intervals are so many times longer, to keep a budget. 1 or more; what is not is taken as 1.
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
