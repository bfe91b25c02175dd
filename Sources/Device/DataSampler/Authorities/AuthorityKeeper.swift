import FoundationEssentials
import Logging
import Synchronization
import Transmitter
import WireModel

/// Stores in `<data>/authorities.json` which certificate authorities of profiles worked: the shell around
/// ``AuthorityPolicy``. A device whose profiles never named one has no such file. Safe from any thread.
final class AuthorityKeeper: Sendable {
    static let fileName = "authorities.json"

    private struct State {
        var policy: AuthorityPolicy
        var saved: AuthorityPolicy
        /// The authorities of the applied profile.
        var profile: [Data] = []
        var revision: UInt64 = 0
        var isUnsaved = false
    }

    private let file: StateFile<AuthorityPolicy>
    private let state: Mutex<State>
    private let logger: Logger

    /// - Parameters:
    ///   - seal: as of `DurableFile`.
    ///   - damaged: called for a file that was quarantined.
    init(directory: String, seal: StateSeal? = nil, logger: Logger, damaged: (DataSamplerError) -> Void)
        throws(DataSamplerError)
    {
        file = StateFile(directory: directory, name: Self.fileName, seal: seal)
        let policy = try file.loadOrKeepAsDamaged(damaged: damaged) ?? AuthorityPolicy()
        state = Mutex(State(policy: policy, saved: policy))
        self.logger = logger
    }

    func apply(_ settings: DeviceSettings) {
        state.withLock { state in
            state.profile = settings.authorities
            state.revision = settings.profileRevision
        }
    }

    /// Forgets the authorities that worked: a former enrollment says nothing about the next collector.
    func forgetFormerEnrollment() { state.withLock { $0.policy = AuthorityPolicy() } }

    /// The authorities to trust now.
    func inForce(now: Int64) -> [Data] { state.withLock { $0.policy.inForce($0.profile, now: now) } }

    /// The authorities to try after a connection failed with this set; `nil` for none.
    func fallback(from used: [Data]) -> [Data]? { state.withLock { $0.policy.fallback($0.profile, from: used) } }

    /// The collector answered under this set.
    /// - Returns: the notice to post; `nil` for none.
    func answered(under used: [Data]) -> DataSamplerNotice? { change { $0.policy.answered($0.profile, under: used) } }

    /// The collector answered under both sets.
    /// - Returns: as of ``answered(under:)``.
    /// - Parameter failed: the set that had failed alone. If another is applied since, nothing changes.
    func fellBack(from failed: [Data], now: Int64) -> DataSamplerNotice? {
        change { $0.profile == failed ? $0.policy.fellBack($0.profile, now: now) : nil }
    }

    /// Why the profile's authorities are not in force alone; `nil` if they are.
    var finding: ProfileFinding? { state.withLock { $0.policy.hasFallenBack($0.profile) ? Self.finding : nil } }

    private static let finding = ProfileFinding(
        name: "certificate-authorities-failed",
        text: "with the certificate authorities of the profile alone the collector cannot be reached; those that last "
            + "worked are trusted, too. Correct certificateAuthorities in the profile, or the collector's certificate")

    /// The enrollment to which they belong has ended. May be repeated.
    func erase() throws(DataSamplerError) {
        try state.withLock { state throws(DataSamplerError) in
            state.policy = AuthorityPolicy()
            state.saved = state.policy
            try file.file.remove()
            try file.file.removeLeftovers()
        }
    }

    private func change(_ body: (inout State) -> AuthorityPolicy.Change?) -> DataSamplerNotice? {
        state.withLock { state in
            let change = body(&state)
            if state.policy != state.saved {
                do throws(DataSamplerError) {
                    try file.save(state.policy)
                    state.saved = state.policy
                    state.isUnsaved = false
                } catch {
                    // Tried again with every answer, but logged once.
                    if !state.isUnsaved {
                        state.isUnsaved = true
                        logger.warning(
                            "the state of the certificate authorities cannot be kept",
                            metadata: ["reason": "\(error.message)"])
                    }
                }
            }
            let details = ["revision": "\(state.revision)"]
            switch change {
            case .fellBack?: return DataSamplerNotice(.authoritiesFallenBack, Self.finding.text, details)
            case .applied?:
                return DataSamplerNotice(
                    .authoritiesApplied, "the certificate authorities of the profile are in force alone", details)
            case nil: return nil
            }
        }
    }
}

/// A transport that trusts the profile's authorities, and falls back where they cut it off.
struct AuthorityTransport: Transport {
    let base: any Transport
    let core: SamplerCore
    let events: DeviceEvents

    var serverKey: Data? { base.serverKey }

    func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
        let authorities = core.authorities
        let used = authorities.inForce(now: core.queueTime)
        base.trust(used)
        do throws(TransportError) {
            let response = try await base.send(request)
            // Anything with a certificate of a trusted authority can answer. Only a collector's answer proves a set.
            if response.source != nil { report(authorities.answered(under: used)) }
            return response
        } catch {
            guard error.code == .tls, let both = authorities.fallback(from: used) else { throw error }
            // Without TLS the request did not leave. Should it have, it is one that may be repeated, as all are.
            base.trust(both)
            let response = try await base.send(request)
            if response.source != nil { report(authorities.fellBack(from: used, now: core.queueTime)) }
            return response
        }
    }

    private func report(_ notice: DataSamplerNotice?) {
        guard let notice else { return }
        core.logger.log(
            level: notice.kind == .authoritiesFallenBack ? .error : .notice,
            "certificate authorities of the profile", metadata: ["reason": "\(notice.message)"])
        core.notices.post(notice)
        // Beacons tell the finding.
        events.post(.authoritiesChanged)
    }

    func pin(to pins: [Data]) { base.pin(to: pins) }

    func trust(_ authorities: [Data]) { base.trust(authorities) }

    func show(certificate chain: String?) throws(TransportError) -> CertificateLife? {
        try base.show(certificate: chain)
    }
}
