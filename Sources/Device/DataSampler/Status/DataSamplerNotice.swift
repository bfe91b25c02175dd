import Synchronization

/// Something the host may want to know, as it happens.
public struct DataSamplerNotice: Equatable, Sendable, CustomStringConvertible {
    /// The kind of event. Stable; new ones may be added.
    public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The name in kebab-case, as printed.
        public let rawValue: String

        /// Makes a kind from its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The name.
        public var description: String { rawValue }

        /// A profile was fetched and applied; `details["revision"]`.
        public static let profileApplied = Kind(rawValue: "profile-applied")
        /// The collector sent something that is no profile to run; the last good one stays. `details["revision"]`.
        public static let profileRefused = Kind(rawValue: "profile-refused")
        /// The profile's certificate pins are not in force: the collector's present key is none of them.
        /// `details["revision"]`.
        public static let pinsRefused = Kind(rawValue: "pins-refused")
        /// The profile's certificate pins failed for longer than the offline time allowed; those that last worked are
        /// in force beside them. `details["revision"]`.
        public static let pinsFallenBack = Kind(rawValue: "pins-fallen-back")
        /// The profile's certificate pins, refused before, are in force. `details["revision"]`.
        public static let pinsApplied = Kind(rawValue: "pins-applied")
        /// The profile's certificate authorities alone did not lead to the collector; those that last worked are
        /// trusted beside them. `details["revision"]`.
        public static let authoritiesFallenBack = Kind(rawValue: "authorities-fallen-back")
        /// The profile's certificate authorities, which failed before, are in force alone. `details["revision"]`.
        public static let authoritiesApplied = Kind(rawValue: "authorities-applied")
        /// Telemetry was switched off: nothing is sampled or recorded, and only commands are answered.
        public static let telemetryDisabled = Kind(rawValue: "telemetry-disabled")
        /// Telemetry was switched on again.
        public static let telemetryEnabled = Kind(rawValue: "telemetry-enabled")
        /// The collector was out of reach for longer than is allowed (ws1); what follows is the host's to decide.
        /// `details["seconds"]`.
        public static let offlineTimeExceeded = Kind(rawValue: "offline-time-exceeded")
        /// This start asks another collector than the last one, or the same without the certificate pins of then;
        /// `details["from"]`, `details["to"]`. An enrolled device stays with its collector: it says so and waits, until
        /// it is unenrolled or pointed back.
        public static let collectorChanged = Kind(rawValue: "collector-changed")
        /// The profile asks to block the use of the program, because the device is compromised or breaks a rule; what
        /// follows is the host's to decide. Posted again at each start, and when the reasons change;
        /// `details["reasons"]`.
        public static let blocked = Kind(rawValue: "blocked")
        /// The profile does not ask to block the use of the program any more.
        public static let unblocked = Kind(rawValue: "unblocked")
        /// The device entered a geofence of the profile, or is inside when the profile comes; `details["geofence"]` has
        /// its id.
        public static let geofenceEntered = Kind(rawValue: "geofence-entered")
        /// The device left a geofence of the profile; `details["geofence"]`, its id.
        public static let geofenceLeft = Kind(rawValue: "geofence-left")
        /// Data is not sent now: ``DataSamplerNotice/closedGate`` says why, `details["streams"]` which data waits.
        /// Posted when that has lasted ten seconds, and again when reason or streams change.
        public static let networkStopped = Kind(rawValue: "network-stopped")
        /// Everything may be sent again, after a ``networkStopped``.
        public static let networkResumed = Kind(rawValue: "network-resumed")
        /// The collector answers.
        public static let reachable = Kind(rawValue: "reachable")
        /// The collector does not answer.
        public static let unreachable = Kind(rawValue: "unreachable")
        /// The collector refuses this device (403); somebody has to act there.
        public static let forbidden = Kind(rawValue: "forbidden")
        /// This device was enrolled; `details["device"]`.
        public static let enrolled = Kind(rawValue: "enrolled")
        /// The histories of device and collector have diverged; it is being settled.
        public static let diverged = Kind(rawValue: "diverged")
        /// The queue began a new epoch.
        public static let newEpoch = Kind(rawValue: "new-epoch")
        /// A command of the collector ended; `details["action"]`, `details["state"]`.
        public static let commandEnded = Kind(rawValue: "command-ended")
        /// The program has taken a message of a person: ``DataSamplerConfiguration/receiveMessage`` has returned.
        /// `details["command"]` is its ``DataSamplerMessage/id``. Text and payload are not in it, because notices are
        /// logged.
        public static let messageReceived = Kind(rawValue: "message-received")
        /// logind reports that another person has the session at the machine's screen than before (ws1: a user change).
        /// Not posted for the first one after a start, nor while the host's `setUser` counts.
        public static let userChanged = Kind(rawValue: "user-changed")
        /// Queue and kept state were erased.
        public static let wiped = Kind(rawValue: "wiped")
        /// This device was unenrolled.
        public static let unenrolled = Kind(rawValue: "unenrolled")
        /// A budget slows the sampler down, or no longer does; `details["factor"]`.
        public static let slowdown = Kind(rawValue: "slowdown")
        /// A custom module failed or took too long; `details["module"]`. Once until it succeeds again.
        public static let moduleFailed = Kind(rawValue: "module-failed")
        /// A damaged file of the directory was quarantined; `details["file"]`.
        public static let fileSetAside = Kind(rawValue: "file-set-aside")
        /// The identity file was damaged or gone, and was made anew from the copy in the queue.
        public static let identityRestored = Kind(rawValue: "identity-restored")
        /// The queue could not keep a copy of the identity file.
        public static let identityNotCopied = Kind(rawValue: "identity-not-copied")
        /// The file of the consent decision was damaged or gone, or held an earlier decision. It was made anew from the
        /// copy in the queue.
        public static let consentRestored = Kind(rawValue: "consent-restored")
        /// The decision on consent is on disk only once: the queue could not keep its copy, or the file could not be
        /// written.
        public static let consentNotCopied = Kind(rawValue: "consent-not-copied")
        /// The queue's file was damaged or gone and was replaced by what is readable of it; `details["salvaged"]`,
        /// `details["lost"]`.
        public static let queueSalvaged = Kind(rawValue: "queue-salvaged")
    }

    /// The kind of event.
    public let kind: Kind
    /// The text in words; no data of a person.
    public let message: String
    /// The particulars that `kind` names.
    public let details: [String: String]

    init(_ kind: Kind, _ message: String, _ details: [String: String] = [:]) {
        self.kind = kind
        self.message = message
        self.details = details
    }

    /// The gate that keeps data from being sent, for a ``Kind/networkStopped``; `nil` for other kinds. Never `consent`,
    /// `logging`, `firstProfile` or `stalled`.
    public var closedGate: DeliveryFailure.ClosedGate? {
        kind == .networkStopped ? details["reason"].flatMap { DeliveryFailure.ClosedGate(rawValue: $0) } : nil
    }

    /// Kind and message in one line.
    public var description: String { "\(kind): \(message)" }
}

/// Receives what a ``DataSampler`` notices. Calls come one after the other, in order, on a task of the sampler's own; a
/// slow one delays only the next, and of more than 64 that wait the oldest are left out.
public protocol DataSamplerDelegate: AnyObject, Sendable {
    /// Something happened.
    func dataSampler(_ sampler: DataSampler, noticed notice: DataSamplerNotice) async
}

/// Hands notices to whoever listens. Never blocks and never grows: each listener has a bounded buffer that leaves out
/// the oldest.
final class NoticeBoard: Sendable {
    /// Per listener.
    static let bufferedNotices = 64

    private struct State {
        var listeners: [UInt64: AsyncStream<DataSamplerNotice>.Continuation] = [:]
        var last: UInt64 = 0
    }

    private let state = Mutex(State())
    private let heard: (@Sendable (DataSamplerNotice) -> Void)?

    /// - Parameter heard: called with each notice before `post` returns, for a caller that cannot wait for a stream.
    init(heard: (@Sendable (DataSamplerNotice) -> Void)? = nil) { self.heard = heard }

    /// The notices that are posted from now on; the stream ends when nobody holds its iterator any more.
    func listen() -> AsyncStream<DataSamplerNotice> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: DataSamplerNotice.self, bufferingPolicy: .bufferingNewest(Self.bufferedNotices))
        let listener = state.withLock { state in
            state.last += 1
            state.listeners[state.last] = continuation
            return state.last
        }
        continuation.onTermination = { [weak self] _ in self?.forget(listener) }
        return stream
    }

    func post(_ notice: DataSamplerNotice) {
        heard?(notice)
        let listeners = state.withLock { Array($0.listeners.values) }
        for listener in listeners { listener.yield(notice) }
    }

    func post(_ kind: DataSamplerNotice.Kind, _ message: String, _ details: [String: String] = [:]) {
        post(DataSamplerNotice(kind, message, details))
    }

    /// Reports a damaged file that was quarantined.
    func postSetAside(_ file: String) -> (DataSamplerError) -> Void {
        { self.post(.fileSetAside, $0.message, ["file": file]) }
    }

    private func forget(_ listener: UInt64) { state.withLock { $0.listeners[listener] = nil } }
}
