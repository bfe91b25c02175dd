import WireModel

/// Whether a record may be made now, but for the person's consent. Pure; asked at one place, `SamplerCore`, before
/// anything is queued.
struct RecordGate: Equatable, Sendable {
    enum Content: Equatable, Sendable {
        case event
        case sample
        case beacon
        /// The one that says that this device leaves.
        case lastBeacon
        /// What became of a command.
        case result
    }

    enum Decision: Equatable, Sendable {
        case record
        /// Refused; `counted` says under which reason the loss is counted, `nil`: it is none, the caller was told
        /// before anything was made.
        case refuse(DataSamplerError.Code, String, counted: DropReason?)
    }

    var isUnenrolled = false
    /// Being unenrolled: but for the last beacon nothing is recorded any more.
    var isLeaving = false
    var isWiping = false
    var isTelemetryDisabled = false
    var isProfileChecked = false
    var isAnalyticsEnabled = true

    func decide(_ content: Content) -> Decision {
        if isUnenrolled {
            return .refuse(
                .unenrolled, "this device was unenrolled: nothing is recorded any more", counted: .unenrolled)
        }
        if isLeaving, content != .lastBeacon {
            return .refuse(
                .unenrolled, "this device is being unenrolled: nothing is recorded any more", counted: .unenrolled)
        }
        // The result of a wipe is told in the new epoch while its note still stands.
        if content == .result { return .record }
        // A beacon tells that a wipe is pending.
        if isWiping, content != .beacon, content != .lastBeacon {
            return .refuse(.wipePending, "a wipe is being carried out: try again when it is done", counted: .wiped)
        }
        if isTelemetryDisabled {
            return .refuse(
                .telemetryDisabled, "telemetry is switched off: nothing is recorded until that is lifted",
                counted: .disabled)
        }
        if content == .beacon || content == .lastBeacon { return .record }
        if content == .event {
            guard isAnalyticsEnabled else {
                return .refuse(
                    .analyticsDisabled, "analytics is not enabled: the event was not recorded", counted: .disabled)
            }
            guard isProfileChecked else {
                return .refuse(
                    .profileNotChecked,
                    "no profile is at hand yet, so that nobody knows whether events may be recorded: try again once the collector was reached",
                    counted: nil)
            }
        }
        return .record
    }
}

extension RecordGate {
    /// What the settings say of it.
    mutating func take(_ settings: DeviceSettings) {
        isTelemetryDisabled = settings.telemetryDisabled
        isProfileChecked = settings.profileChecked
        isAnalyticsEnabled = settings.analyticsEnabled
    }
}
