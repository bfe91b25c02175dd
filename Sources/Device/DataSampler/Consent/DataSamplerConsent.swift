import FoundationEssentials
import WireModel

/// The decision about being sampled that the person made whose device it is.
public enum DataSamplerConsent: String, Codable, CaseIterable, Sendable {
    /// Records are made and sent.
    case granted
    /// Nobody has been asked yet: records are made and wait on the device until it is decided.
    case pending
    /// No records are made; what waited to be sent is dropped, and counted.
    case denied
}

extension DataSamplerConsent {
    var wire: WireConsent {
        switch self {
        case .granted: .granted
        case .pending: .pending
        case .denied: .denied
        }
    }

    /// A greater one lets less go. The cases are declared in this order.
    var strictness: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}

/// The reduction of status records while consent is not granted. Pure.
///
/// Events and samples show what a person does: they wait for consent, or are not made without it. Status records go on,
/// so that the collector can distinguish a refusal from a dead device, the balance closes and commands end. Until
/// consent is granted they hold only what the program says of itself. The analytics and logging switches do not touch
/// beacons: they are the organization's, consent is the person's.
enum StatusReduction {
    /// The part of a status record that may go while consent is not granted: whose it is, that it lives, its versions,
    /// schedule, accounts and cost, and what was said to consent. Of a command's result its state goes, and the
    /// certificate of a wipe.
    ///
    /// Fields are copied one by one, so that a new one stays out until somebody decides to let it in. The push token is
    /// the program's own address, set by a call of the host; without it a pending question could not even be put.
    static func reduced(_ body: Data, kind: WireRecordKind) -> Data {
        switch kind {
        case .beacon: (try? WireBeacon.decode(body)).map { reduced($0).encoded } ?? Data()
        case .commandResult: (try? WireCommandResult.decode(body)).map { reduced($0).encoded } ?? Data()
        default: Data()
        }
    }

    private static func reduced(_ whole: WireBeacon) -> WireBeacon {
        var beacon = WireBeacon()
        beacon.trigger = whole.trigger
        beacon.organizationGroup = whole.organizationGroup
        beacon.application = whole.application
        beacon.applicationVersion = whole.applicationVersion
        beacon.libraryVersion = whole.libraryVersion
        beacon.enrollment = whole.enrollment
        beacon.managed = whole.managed
        if whole.hasPushToken { beacon.pushToken = whole.pushToken }
        beacon.profileRevision = whole.profileRevision
        beacon.nextBeaconSeconds = whole.nextBeaconSeconds
        beacon.queue = whole.queue
        if whole.hasSelf_p { beacon.self_p = whole.self_p }
        beacon.processStartTime = whole.processStartTime
        beacon.beaconSequence = whole.beaconSequence
        beacon.consent = whole.consent
        if whole.hasSlowdown { beacon.slowdown = whole.slowdown }
        if whole.hasTelemetryDisabled { beacon.telemetryDisabled = whole.telemetryDisabled }
        return beacon
    }

    private static func reduced(_ whole: WireCommandResult) -> WireCommandResult {
        var result = WireCommandResult()
        result.commandID = whole.commandID
        result.state = whole.state
        result.progress = whole.progress
        result.wipeCertificate = whole.wipeCertificate
        return result
    }
}
