import FoundationEssentials
import Logging
import Synchronization
import Transmitter
import WireModel

/// Keeps which certificate pins are in force over restarts, in `<data>/pins.json`: the shell around
/// ``PinPolicy``. A device that never had pins has no such file. Safe from any thread.
final class PinKeeper: Sendable {
    static let fileName = "pins.json"

    private struct State {
        var policy: PinPolicy
        var saved: PinPolicy
        /// The pins of the applied profile.
        var profile: [Data]
        var revision: UInt64 = 0
        var allowedSeconds: Double?
        var isUnsaved = false
        /// Told to nobody yet.
        var changes: [PinChange] = []
        var listener: (@Sendable () -> Void)?

        func finding(_ pins: [Data]) -> PinFinding? {
            policy.finding(pins).map { PinFinding(reason: $0, fallsBackToNone: policy.inForce(pins).isEmpty) }
        }
    }

    private let file: StateFile<PinPolicy>
    private let state: Mutex<State>
    private let logger: Logger

    /// - Parameter damaged: is told of a file that was quarantined.
    init(directory: String, logger: Logger, damaged: (DataSamplerError) -> Void) throws(DataSamplerError) {
        file = StateFile(directory: directory, name: Self.fileName)
        let policy = try file.loadOrKeepAsDamaged(damaged: damaged) ?? PinPolicy()
        state = Mutex(State(policy: policy, saved: policy, profile: []))
        self.logger = logger
    }

    /// - Parameter changed: is called when another set is in force, on any thread.
    func listen(_ changed: @escaping @Sendable () -> Void) { state.withLock { $0.listener = changed } }

    /// What the settings that are applied say.
    func apply(_ settings: DeviceSettings) {
        state.withLock { state in
            state.profile = settings.pins
            state.revision = settings.profileRevision
            state.allowedSeconds = settings.offlineTimeAllowed
        }
    }

    /// The pins in force, given those of a profile.
    func inForce(_ profile: [Data]) -> [Data] { state.withLock { $0.policy.inForce(profile) } }

    /// Why the pins of the profile are not in force; `nil`: they are.
    func finding(_ profile: [Data]) -> PinFinding? {
        state.withLock { $0.finding(profile) }
    }

    /// To be told before a new profile is kept: a restart in between must not find its pins unchecked.
    func arrived(_ pins: [Data], revision: UInt64, key: Data?) {
        change(of: (pins: pins, revision: revision)) { $0.policy.arrived(pins, former: $0.profile, key: key) }
    }

    func connected(to key: Data) { change { $0.policy.connected($0.profile, key: key) } }

    func mismatched(now: Int64) {
        change { $0.policy.mismatched($0.profile, allowedSeconds: $0.allowedSeconds, now: now) }
    }

    var hasChanges: Bool { state.withLock { !$0.changes.isEmpty } }

    /// What has changed since this was asked last, for those who tell of it.
    func takeChanges() -> [PinChange] {
        state.withLock { state in
            defer { state.changes = [] }
            return state.changes
        }
    }

    /// - Parameter arriving: pins and revision of the profile whose finding changes; `nil`: the one that is applied. A
    ///   profile that arrives is applied later.
    private func change(
        of arriving: (pins: [Data], revision: UInt64)? = nil, _ body: (inout State) -> PinPolicy.Change?
    ) {
        let listener = state.withLock { state -> (@Sendable () -> Void)? in
            let change = body(&state)
            if let change {
                let finding = state.finding(arriving?.pins ?? state.profile)
                state.changes.append(
                    PinChange(change: change, revision: arriving?.revision ?? state.revision, finding: finding))
            }
            if state.policy != state.saved {
                // Kept before it is acted on: a restart must not forget which set worked.
                do throws(DataSamplerError) {
                    try file.save(state.policy)
                    state.saved = state.policy
                    state.isUnsaved = false
                } catch {
                    // Tried again with every answer, told once.
                    if !state.isUnsaved {
                        state.isUnsaved = true
                        logger.warning(
                            "the state of the certificate pins cannot be kept", metadata: ["reason": "\(error.message)"]
                        )
                    }
                }
            }
            return change == nil ? nil : state.listener
        }
        listener?()
    }
}

/// What changed, and what is to be said of the pins since then.
struct PinChange: Equatable, Sendable {
    var change: PinPolicy.Change
    /// The revision of the profile that has the pins.
    var revision: UInt64
    /// `nil`: the pins are in force.
    var finding: PinFinding?
}

/// That the certificate pins of the profile are not in force: in words for people, and as a name for the collector.
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
                "the certificate pins of the profile are refused: the key that the collector showed is none of them"
            case .failed: "the certificate pins of the profile fitted no connection for longer than is allowed"
            }
        let now =
            fallsBackToNone
            ? "as before, any key is taken that the certificate authorities vouch for"
            : "the pins that last worked are in force beside them"
        return "\(why); \(now). Correct certificatePins in the profile"
    }
}

/// The way to the collector, watched: a connection that fits the pins proves them, one that is refused for its key
/// counts against them.
struct PinWatchingTransport: Transport {
    let base: any Transport
    let pins: PinKeeper
    /// Microseconds of the queue clock.
    let now: @Sendable () -> Int64

    var serverKey: Data? { base.serverKey }

    func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
        do throws(TransportError) {
            let response = try await base.send(request)
            // Anything that holds a certificate of a trusted authority can answer; only a collector's answer proves a
            // set.
            if response.source != nil, let key = base.serverKey { pins.connected(to: key) }
            return response
        } catch {
            if error.code == .pinMismatch { pins.mismatched(now: now()) }
            throw error
        }
    }

    func pin(to pins: [Data]) { base.pin(to: pins) }

    func show(certificate chain: String?) throws(TransportError) -> CertificateLife? {
        try base.show(certificate: chain)
    }
}
