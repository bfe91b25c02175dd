/// A token, as administrators see it.
package struct TokenView: Codable, Equatable, Sendable {
    package var id = ""
    package var kind = ""
    package var name = ""
    package var role: String?
    /// Absent for all organizations.
    package var organization: String?
    package var createdAt = ""
    package var expiresAt: String?
    package var revokedAt: String?
    /// The number of devices that enrolled with it. Only for enrollment tokens.
    package var uses: Int?
    package var maximumUses: Int?
    /// `good`, `expired`, `used-up` or `revoked`.
    package var state = ""
    /// The secret. Only in the answer that made the token.
    package var token: String?
    /// Only in the answer that made the token for an address. It contains the secret.
    package var enrollmentURL: String?
    /// The number of keys that the URL pins.
    package var enrollmentPins: Int?
    /// The number of certificate authorities that the URL brings.
    package var enrollmentAuthorities: Int?

    package init() {}
}

/// A sign-in code. `/sign-in#CODE` in the console signs in with it.
package struct SignInCodeView: Codable, Equatable, Sendable {
    package var code = ""
    package var expiresAt = ""

    package init() {}
}

/// An organization, as people see it.
package struct OrganizationView: Codable, Equatable, Sendable {
    package var name = ""
    package var createdAt = ""
    /// The number of devices, without test devices.
    package var devices = 0
    package var testDevices = 0
    /// The newest revision of all its profiles, including those of its applications.
    package var profileRevision: UInt64 = 0

    package init() {}
}

/// The collector itself: its versions and its troubles.
package struct AboutView: Codable, Equatable, Sendable {
    package var version = ""
    package var sqliteVersion = ""
    package var operatingSystem = ""
    package var collector = ""
    package var startedAt = ""
    /// Only for administrators of all organizations.
    package var dataDirectory: String?
    /// When notices about silent devices begin; absent if they have begun.
    package var silenceNoticesFrom: String?
    /// The troubles of the collector itself.
    package var troubles: [Trouble] = []

    package struct Trouble: Codable, Equatable, Sendable {
        package var kind = ""
        package var since = ""
        package var summary = ""
        /// Only for administrators of all organizations.
        package var detail: String?

        package init() {}
    }

    package init() {}
}

/// An entry of the audit trail, as administrators see it.
package struct AuditView: Codable, Equatable, Sendable {
    package var id = ""
    package var time = ""
    package var actor = ""
    /// The id of the token that was used; absent for commands on the collector's machine.
    package var token: String?
    package var role: String?
    /// The id of the job over many devices that it belongs to; absent for what was done at once.
    package var job: String?
    /// Absent if it concerns the whole collector.
    package var organization: String?
    package var action = ""
    package var subject = ""
    package var detail: [String: String] = [:]
    package var outcome = ""

    package init() {}
}
