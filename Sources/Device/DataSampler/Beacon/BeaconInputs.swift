import RecordQueue
import WireModel

/// Everything a beacon is made from, at one moment. What is absent here is absent or unknown in the beacon, never made up.
struct BeaconInputs: Sendable {
    var trigger: WireBeaconTrigger
    /// When the next is due; 0: no schedule.
    var nextBeaconSeconds: UInt32 = 0
    /// Counts in this process, from 1.
    var sequence: UInt64
    var stamp: RecordStamp
    /// Bundle id.
    var application = ""
    var applicationVersion = ""
    var facts = DeviceFacts.Reading()
    var standing = EnrollmentStanding.unknown
    /// `nil`: nobody has looked.
    var compromise: CompromiseReport?
    var compliance = ComplianceReport()
    var user: DeviceUser?
    /// What no acknowledged beacon has told yet; `nil`: unchanged.
    var pushToken: PushTokenState.Token?
    /// Whether do-not-disturb is in force; `nil`: nobody has said. While it is, a beacon tells device, enrollment and this only.
    var doNotDisturb: Bool?
    /// Where position is allowed.
    var location: WireLocation?
    var conditions = DeviceConditions()
    /// `nil` where the queue could not say.
    var queue: QueueStatus?
    /// 0: no profile.
    var profileRevision: UInt64 = 0
    /// What of it this device does not do, by name.
    var profileFindings: [String] = []
    var consent = WireConsent.unspecified
    /// `nil`: intervals are as they were set.
    var slowdown: WireSlowdown?
    var telemetryDisabled = false
    /// What is sampled now, by name.
    var modules: [String] = []
}
