import RecordQueue
import WireModel

/// Makes the body of a beacon from what is known. Pure. Nothing is invented: what no detector or rule examined is
/// unknown.
enum BeaconComposer {
    static func beacon(_ inputs: BeaconInputs) -> WireBeacon {
        var beacon = device(inputs)
        // Only device, enrollment and the do-not-disturb state. The rest follows when it is over, including a new push
        // token.
        if inputs.doNotDisturb == true { return beacon }
        addUser(inputs.user, to: &beacon)
        beacon.deviceCompliance = inputs.compliance.device
        beacon.applicationCompliance = inputs.compliance.application
        beacon.rules = inputs.compliance.results
        if let compromise = inputs.compromise {
            beacon.compromised = compromise.verdict.wire
            beacon.findings = compromise.findings.map(\.wire)
        }
        if let token = inputs.pushToken { beacon.pushToken = token.wire }
        if let location = inputs.location { beacon.location = location }
        addConditions(inputs.conditions, to: &beacon)
        if let power = inputs.facts.power { beacon.power = power }
        if let cost = inputs.facts.cost { beacon.self_p = cost }
        if let slowdown = inputs.slowdown { beacon.slowdown = slowdown }
        beacon.queue = inputs.queue.map(streams) ?? []
        beacon.modules = inputs.modules
        if let encryption = inputs.encryption { beacon.encryption = encryption }
        return beacon
    }

    /// The part of every beacon: the device and program, its enrollment, and when the next beacon is due.
    private static func device(_ inputs: BeaconInputs) -> WireBeacon {
        var beacon = WireBeacon()
        beacon.trigger = inputs.trigger
        beacon.nextBeaconSeconds = inputs.nextBeaconSeconds
        beacon.beaconSequence = inputs.sequence
        beacon.application = inputs.application
        beacon.applicationVersion = inputs.applicationVersion
        beacon.libraryVersion = DataSampler.version
        beacon.organizationGroup = inputs.standing.organization
        beacon.enrollment = inputs.standing.wire
        beacon.managed = inputs.standing.managed
        beacon.profileRevision = inputs.profileRevision
        beacon.profileFindings = inputs.profileFindings
        beacon.consent = inputs.consent
        beacon.telemetryDisabled = inputs.telemetryDisabled
        beacon.doNotDisturb =
            switch inputs.doNotDisturb {
            case nil: .unknown
            case false?: .no
            case true?: .yes
            }
        let facts = inputs.facts
        beacon.uptimeSeconds = facts.uptimeSeconds
        if let identity = facts.identity {
            beacon.deviceName = identity.hostName
            beacon.operatingSystem = identity.operatingSystem
            beacon.model = identity.model
        }
        if let cost = facts.cost {
            beacon.processStartTime = inputs.stamp.wallTime - Int64(clamping: cost.uptimeMicroseconds)
        }
        return beacon
    }

    private static func addUser(_ user: DeviceUser?, to beacon: inout WireBeacon) {
        guard let user else { return }
        if let email = user.email { beacon.userEmail = email.bounded(bytes: DeviceUser.maximumBytes) }
        if let name = user.fullName { beacon.userFullName = name.bounded(bytes: DeviceUser.maximumBytes) }
        if let name = user.displayName { beacon.userDisplayName = name.bounded(bytes: DeviceUser.maximumBytes) }
    }

    private static func addConditions(_ conditions: DeviceConditions, to beacon: inout WireBeacon) {
        beacon.network = conditions.network
        if let metered = conditions.metered { beacon.metered = metered }
        if let roaming = conditions.roaming { beacon.roaming = roaming }
    }

    private static func streams(_ status: QueueStatus) -> [WireStreamStatus] {
        status.streams.sorted { $0.key < $1.key }.map { name, stream in
            var message = WireStreamStatus()
            message.stream = WireStream(rawValue: name.rawValue) ?? .unspecified
            message.waiting = stream.waiting
            message.waitingBytes = stream.waitingBytes
            if let age = stream.oldestAgeSeconds { message.oldestAgeSeconds = UInt64(max(0, age)) }
            message.dropped = stream.dropped.values.saturatingSum
            message.losses = stream.dropped.filter { $0.value > 0 }.sorted { $0.key < $1.key }.map { reason, count in
                var loss = WireDropCount()
                loss.reason = WireDropReason(rawValue: reason.rawValue) ?? .unspecified
                loss.count = count
                return loss
            }
            message.acknowledged = stream.mark.number
            message.rejected = stream.mark.rejected.values.saturatingSum
            return message
        }
    }
}

extension String {
    /// The longest prefix that fits, cut between characters.
    package func bounded(bytes: Int) -> String {
        guard utf8.count > bytes else { return self }
        var end = startIndex
        var used = 0
        while end < endIndex {
            let next = index(after: end)
            used += self[end..<next].utf8.count
            if used > bytes { break }
            end = next
        }
        return String(self[..<end])
    }
}

/// Everything a beacon is made from, at one moment. What is missing here is absent or unknown in the beacon, never made
/// up.
struct BeaconInputs: Sendable {
    var trigger: WireBeaconTrigger
    /// Seconds until the next beacon; 0 without a schedule.
    var nextBeaconSeconds: UInt32 = 0
    /// Counts in this process, from 1.
    var sequence: UInt64
    var stamp: RecordStamp
    /// Bundle id.
    var application = ""
    var applicationVersion = ""
    var facts = DeviceFacts.Reading()
    var standing = EnrollmentStanding.unknown
    /// `nil` if no detector has run.
    var compromise: CompromiseReport?
    var compliance = ComplianceReport()
    var user: DeviceUser?
    /// The push token, until an acknowledged beacon contained it; `nil` if unchanged.
    var pushToken: PushTokenState.Token?
    /// Whether do-not-disturb is on; `nil` if nobody has said. While it is on, a beacon contains only device,
    /// enrollment and this state.
    var doNotDisturb: Bool?
    /// `nil` if nothing knows the position. The privacy filter decides whether it is sent, as for every field.
    var location: WireLocation?
    var conditions = DeviceConditions()
    /// `nil` if the queue could not be asked.
    var queue: QueueStatus?
    /// 0: no profile.
    var profileRevision: UInt64 = 0
    /// Names of the profile's settings that this device cannot apply.
    var profileFindings: [String] = []
    var consent = WireConsent.unspecified
    /// `nil` if intervals are not lengthened.
    var slowdown: WireSlowdown?
    /// `nil` if nobody can say. Without a provider: nothing is encrypted.
    var encryption: WireEncryptionStatus?
    var telemetryDisabled = false
    /// Names of the modules that are sampled now.
    var modules: [String] = []
}

extension WireBeacon {
    /// Only the fields whose change is worth a beacon of its own. Figures are not among them.
    var statements: WireBeacon {
        var statements = WireBeacon()
        statements.enrollment = enrollment
        statements.organizationGroup = organizationGroup
        statements.managed = managed
        statements.userEmail = userEmail
        statements.userFullName = userFullName
        statements.userDisplayName = userDisplayName
        statements.profileRevision = profileRevision
        statements.profileFindings = profileFindings
        statements.deviceCompliance = deviceCompliance
        statements.applicationCompliance = applicationCompliance
        statements.compromised = compromised
        statements.doNotDisturb = doNotDisturb
        statements.consent = consent
        if hasEncryption { statements.encryption = encryption }
        statements.modules = modules
        return statements
    }
}
