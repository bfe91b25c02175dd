import SampleModules
import WireModel

/// Decides whether a record may be made now, apart from the person's consent. Pure. Only `SamplerCore` asks it, before
/// anything is queued.
struct RecordGate: Equatable, Sendable {
    enum Content: Equatable, Sendable {
        case event
        case sample
        case beacon
        /// The last beacon, which reports the unenrollment, or that telemetry is switched off.
        case lastBeacon
        /// The result of a command.
        case result
    }

    enum Decision: Equatable, Sendable {
        case record
        /// Refused. `counted` is the reason under which the loss is counted; `nil` if it is no loss, because the caller
        /// heard it before anything was made.
        case refuse(DataSamplerError.Code, String, counted: DropReason?)
    }

    var isUnenrolled = false
    /// The device is being unenrolled. Only the last beacon is recorded.
    var isLeaving = false
    var isWiping = false
    var isTelemetryDisabled = false
    var isProfileChecked = false
    /// Why no event is recorded, apart from the first profile; `nil`: events are recorded.
    var eventRefusal: EventRefusal?
    /// While no profile was checked.
    var earlyEvents = EarlyEvents()

    /// Like `decide`, and counts an event that will wait for the first profile.
    mutating func admit(_ content: Content, bytes: Int) -> Decision {
        let decision = decide(content, bytes: bytes)
        if decision == .record, content == .event, !isProfileChecked { earlyEvents.add(bytes) }
        return decision
    }

    /// - Parameter bytes: of the record's body.
    func decide(_ content: Content, bytes: Int = 0) -> Decision {
        if isUnenrolled {
            return .refuse(
                .unenrolled, "this device was unenrolled: nothing is recorded any more", counted: .unenrolled)
        }
        if isLeaving, content != .lastBeacon {
            return .refuse(
                .unenrolled, "this device is being unenrolled: nothing is recorded any more", counted: .unenrolled)
        }
        // The result of a wipe is reported in the new epoch while its record on disk still exists.
        if content == .result { return .record }
        // A beacon reports that a wipe is pending.
        if isWiping, content != .beacon, content != .lastBeacon {
            return .refuse(.wipePending, "a wipe is being carried out: try again when it is done", counted: .wiped)
        }
        if isTelemetryDisabled, content != .lastBeacon {
            return .refuse(
                .telemetryDisabled, "telemetry is switched off: nothing is recorded until that is lifted",
                counted: .disabled)
        }
        if content == .beacon || content == .lastBeacon { return .record }
        if content == .event {
            if let eventRefusal { return .refuse(eventRefusal.code, eventRefusal.message, counted: .disabled) }
            guard isProfileChecked || earlyEvents.hasRoom(for: bytes) else {
                return .refuse(
                    .profileNotChecked,
                    """
                    there is no profile yet to say whether events may be recorded. \(earlyEvents.records) events of \
                    \(earlyEvents.bytes) bytes already wait for it (the limits are \(EarlyEvents.maximumRecords) and \
                    \(EarlyEvents.maximumBytes)): try again once the collector has been reached
                    """,
                    counted: nil)
            }
        }
        return .record
    }
}

extension RecordGate {
    mutating func apply(_ settings: DeviceSettings) {
        isTelemetryDisabled = settings.telemetryDisabled
        isProfileChecked = settings.profileChecked
        eventRefusal = settings.eventRefusal
    }
}

/// The settings that events need and that are not given (ws1).
enum EventRefusal: Equatable, Sendable {
    case analytics
    case module

    var code: DataSamplerError.Code {
        switch self {
        case .analytics: .analyticsDisabled
        case .module: .moduleDisabled
        }
    }

    var message: String {
        switch self {
        case .analytics: "analytics is not enabled by profile and configuration: the event was not recorded"
        case .module:
            """
            the module analytics is not among the sample modules of profile or configuration: the event was not recorded
            """
        }
    }
}

extension DeviceSettings {
    /// Before the first profile the module counts as given, because the profile may name it, unless this device's own
    /// configuration disables it.
    var eventRefusal: EventRefusal? {
        guard analyticsEnabled else { return .analytics }
        let isDisabledHere = unavailable[SampleModuleName.analytics.rawValue] != nil
        return isDisabledHere || (profileChecked && !modules.contains(.analytics)) ? .module : nil
    }
}
