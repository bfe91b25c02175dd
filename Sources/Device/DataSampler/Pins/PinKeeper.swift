import FoundationEssentials
import Logging
import Synchronization
import Transmitter
import WireModel

/// Stores in `<data>/pins.json` which certificate pins are in force: the shell around ``PinPolicy``. A device that
/// never had pins has no such file. Safe from any thread.
final class PinKeeper: Sendable {
    static let fileName = "pins.json"

    private struct State {
        var policy: PinPolicy
        var saved: PinPolicy
        /// The pins of the applied profile, or of the configuration.
        var profile: [Data]
        /// The pins in force while the profile has none.
        var local: [Data] = []
        var revision: UInt64 = 0
        var allowedSeconds: Double?
        var isUnsaved = false
        /// Changes that were reported to nobody yet.
        var changes: [PinChange] = []

        func finding(_ pins: [Data]) -> PinFinding? {
            policy.finding(pins).map { PinFinding(reason: $0, fallsBackToNone: policy.inForce(pins).isEmpty) }
        }
    }

    private let file: StateFile<PinPolicy>
    private let state: Mutex<State>
    private let logger: Logger

    /// - Parameters:
    ///   - seal: as of `DurableFile`.
    ///   - damaged: called for a file that was quarantined.
    init(directory: String, seal: StateSeal? = nil, logger: Logger, damaged: (DataSamplerError) -> Void)
        throws(DataSamplerError)
    {
        file = StateFile(directory: directory, name: Self.fileName, seal: seal)
        let policy = try file.loadOrKeepAsDamaged(damaged: damaged) ?? PinPolicy()
        state = Mutex(State(policy: policy, saved: policy, profile: []))
        self.logger = logger
    }

    func apply(_ settings: DeviceSettings) {
        state.withLock { state in
            state.profile = settings.pins
            state.local = settings.localPins
            state.revision = settings.profileRevision
            state.allowedSeconds = settings.offlineTimeAllowed
        }
    }

    /// Forgets what was learned at a former enrollment, which says nothing about the next collector. So pins that hold
    /// for the first contact never give way to pins that worked before.
    func forgetFormerEnrollment() { state.withLock { $0.policy = PinPolicy() } }

    /// The pins in force for a profile's pins.
    func inForce(_ profile: [Data]) -> [Data] { state.withLock { $0.policy.inForce(profile) } }

    /// Why the profile's pins are not in force; `nil` if they are.
    func finding(_ profile: [Data]) -> PinFinding? { state.withLock { $0.finding(profile) } }

    /// A profile came, and is not kept yet.
    /// - Returns: whether another set is in force, as the two below.
    @discardableResult func arrived(_ pins: [Data], revision: UInt64, key: Data?) -> Bool {
        let pins = pins.isEmpty ? state.withLock { $0.local } : pins
        return change(of: (pins: pins, revision: revision)) { $0.policy.arrived(pins, former: $0.profile, key: key) }
    }

    @discardableResult func connected(to key: Data) -> Bool { change { $0.policy.connected($0.profile, key: key) } }

    func mismatched(now: Int64) -> Bool {
        change { $0.policy.mismatched($0.profile, allowedSeconds: $0.allowedSeconds, now: now) }
    }

    /// The enrollment to which the pins belong has ended. May be repeated.
    func erase() throws(DataSamplerError) {
        try state.withLock { state throws(DataSamplerError) in
            state.policy = PinPolicy()
            state.saved = state.policy
            try file.file.remove()
            try file.file.removeLeftovers()
        }
    }

    /// The changes since the last call, for those who report them.
    func drainChanges() -> [PinChange] {
        state.withLock { state in
            defer { state.changes = [] }
            return state.changes
        }
    }

    /// - Parameter arriving: pins and revision of the profile whose finding changes; `nil` for the applied one. A new
    ///   profile is applied later.
    private func change(
        of arriving: (pins: [Data], revision: UInt64)? = nil, _ body: (inout State) -> PinPolicy.Change?
    ) -> Bool {
        state.withLock { state in
            let change = body(&state)
            if let change {
                let finding = state.finding(arriving?.pins ?? state.profile)
                state.changes.append(
                    PinChange(change: change, revision: arriving?.revision ?? state.revision, finding: finding))
            }
            if state.policy != state.saved {
                // Stored before it is acted on, so a restart does not forget which set worked.
                do throws(DataSamplerError) {
                    try file.save(state.policy)
                    state.saved = state.policy
                    state.isUnsaved = false
                } catch {
                    // Tried again with every answer, but logged once.
                    if !state.isUnsaved {
                        state.isUnsaved = true
                        logger.warning(
                            "the state of the certificate pins cannot be kept", metadata: ["reason": "\(error.message)"]
                        )
                    }
                }
            }
            return change != nil
        }
    }
}

extension SamplerCore {
    /// The stored profile of a device that is not enrolled is of a former enrollment. Its pins and authorities must not
    /// decide who is asked for the next one, and the next profile is news even if it is the same.
    static func withoutFormerTrust(
        _ profile: (stored: StoredProfile, profile: WireProfile)?, of identity: IdentityStore, _ pins: PinKeeper,
        _ authorities: AuthorityKeeper
    ) -> (stored: StoredProfile, profile: WireProfile)? {
        switch try? identity.state() {
        case .enrolled?, .clone?, nil: return profile
        case .some(.none), .unenrolled?: break
        }
        pins.forgetFormerEnrollment()
        authorities.forgetFormerEnrollment()
        var profile = profile
        profile?.profile.certificatePins = []
        profile?.profile.certificateAuthorities = []
        profile?.stored.etag = ""
        profile?.stored.profile = Data()
        return profile
    }
}

/// A change, and the state of the pins since then.
struct PinChange: Equatable, Sendable {
    var change: PinPolicy.Change
    /// The revision of the profile with the pins.
    var revision: UInt64
    /// `nil` if the pins are in force.
    var finding: PinFinding?

    var notice: DataSamplerNotice {
        let details = ["revision": "\(revision)"]
        return switch change {
        case .refused:
            DataSamplerNotice(.pinsRefused, finding?.text ?? "the certificate pins were refused", details)
        case .fellBack: DataSamplerNotice(.pinsFallenBack, finding?.text ?? "the certificate pins failed", details)
        case .applied: DataSamplerNotice(.pinsApplied, "the certificate pins of the profile are in force", details)
        }
    }
}

/// Why the profile's certificate pins are not in force: text for people, and a name for the collector.
struct PinFinding: Equatable, Sendable {
    var reason: PinPolicy.Reason
    var fallsBackToNone: Bool

    /// The stable name in beacons.
    var name: String {
        switch reason {
        case .unsatisfied: "certificate-pins-refused"
        case .failed: "certificate-pins-failed"
        }
    }

    var text: String {
        let why =
            switch reason {
            case .unsatisfied:
                "the certificate pins of the profile are refused: none of them matches the collector's key"
            case .failed: "the certificate pins of the profile matched no connection for longer than allowed"
            }
        let now =
            fallsBackToNone
            ? "as before, any key that the certificate authorities confirm is accepted"
            : "the pins that last worked are also in force"
        return "\(why); \(now). Correct certificatePins in the profile"
    }
}

/// A transport that watches its connections. A connection that matches the pins proves them. One refused for its key
/// counts against them.
struct PinWatchingTransport: Transport {
    let base: any Transport
    let core: SamplerCore
    let events: DeviceEvents

    var serverKey: Data? { base.serverKey }

    func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
        do throws(TransportError) {
            let response = try await base.send(request)
            // Anything with a certificate of a trusted authority can answer. Only a collector's answer proves a set.
            if response.source != nil, let key = base.serverKey, core.pins.connected(to: key) {
                events.post(.pinsChanged)
            }
            return response
        } catch {
            if error.code == .pinMismatch, core.pins.mismatched(now: core.queueTime) { events.post(.pinsChanged) }
            throw error
        }
    }

    func pin(to pins: [Data]) { base.pin(to: pins) }

    func trust(_ authorities: [Data]) { base.trust(authorities) }

    func show(certificate chain: String?) throws(TransportError) -> CertificateLife? {
        try base.show(certificate: chain)
    }
}
