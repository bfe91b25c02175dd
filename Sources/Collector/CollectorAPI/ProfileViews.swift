import JSON

/// One revision of a profile, as people see it.
package struct ProfileView: Codable, Equatable, Sendable {
    package var organization = ""
    /// Absent for the whole organization's profile.
    package var application: String?
    package var revision: UInt64 = 0
    package var createdAt: String?
    /// Absent for the organization's initial profile, which nobody stored.
    package var author: String?
    /// Absent in a list that leaves profiles out.
    package var profile: JSONValue?
    /// Settings that returned to their defaults, because the revision before had them and this one does not. Only in
    /// the answer to the request that made the revision.
    package var reset: [ProfileChangeView]?

    package init() {}
}

/// A difference between two profiles.
package struct ProfileChangeView: Codable, Equatable, Sendable {
    /// A JSON Pointer (RFC 6901): `/sampling/modules`.
    package var path = ""
    /// Absent if it did not exist.
    package var from: JSONValue?
    /// Absent if it does not exist any more.
    package var to: JSONValue?

    package init() {}
}

/// The differences between two revisions.
package struct ProfileDiffView: Codable, Equatable, Sendable {
    /// Absent if there was no earlier one.
    package var from: UInt64?
    package var to: UInt64 = 0
    package var changes: [ProfileChangeView] = []

    package init() {}
}

/// A valid profile and its effects.
package struct ProfileValidationView: Codable, Equatable, Sendable {
    /// The revision with which it is compared, the newest if none was named; absent if there is none.
    package var from: UInt64?
    package var changes: [ProfileChangeView] = []
    /// The profile that devices would receive.
    package var effective: JSONValue = .null
    /// Findings to check first.
    package var findings: [ProfileFindingView] = []
    /// Changes by which devices may be erased, blocked or silenced.
    package var risks: [ProfileRiskView] = []

    package init() {}
}

/// A setting that is valid but should be checked before the `PUT`.
package struct ProfileFindingView: Codable, Equatable, Sendable {
    /// A JSON Pointer into the profile.
    package var path = ""
    package var detail = ""

    package init() {}
}

/// The effects that a change of a profile may have on devices, in words and numbers.
package struct ProfileRiskView: Codable, Equatable, Sendable {
    package var effect: Effect
    /// The compliance rule behind it; absent if there is none.
    package var rule: String?
    /// Devices that get the setting.
    package var devices = 0
    /// Those of them that it concerns now.
    package var devicesNow = 0
    /// One or two sentences for the person who confirms it.
    package var detail = ""

    package enum Effect: String, Codable, Sendable {
        case wipe
        case block
        case telemetryOff = "telemetry-off"
    }

    package init(_ effect: Effect) { self.effect = effect }
}

/// The number of devices that apply a revision.
package struct ProfileAdoptionView: Codable, Equatable, Sendable {
    /// The application of these devices; absent for the agent itself.
    package var application: String?
    /// Absent if they have not reported it.
    package var revision: UInt64?
    /// The revision they would receive now.
    package var newestRevision: UInt64 = 0
    package var devices = 0
    /// The number of devices that cannot apply a setting, by setting; absent if all can apply everything.
    package var findings: [String: Int]?

    package init() {}
}
