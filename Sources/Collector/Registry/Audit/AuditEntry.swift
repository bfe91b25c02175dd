import CollectorAPI
import WireModel

/// A change, or the refusal of one. Written in the transaction of the change, so neither is on disk without the other.
package struct AuditEntry: Equatable, Sendable {
    /// The raw value is used on disk and in answers.
    package enum Action: String, Sendable, CaseIterable {
        case tokenCreate = "token-create"
        case tokenRevoke = "token-revoke"
        case organizationCreate = "organization-create"
        case profilePut = "profile-put"
        case profileRollback = "profile-rollback"
        case assignmentsPut = "assignments-put"
        case commandIssue = "command-issue"
        /// A person ended it at the collector.
        case commandEnd = "command-end"
        case deviceRevoke = "device-revoke"
        case deviceReinstate = "device-reinstate"
        case deviceDelete = "device-delete"
        /// Nothing of a deleted device is left.
        case deviceErase = "device-erase"
        case devicePredecessor = "device-predecessor"
        /// A person's decision. Those of devices have none: the device's row has the last one.
        case deviceDoNotDisturb = "device-do-not-disturb"
        /// An action on many devices began or ended. What it did with each has an entry, too.
        case deviceJob = "device-job"
        case logsDelete = "logs-delete"
        case logQuotaChange = "log-quota-change"
        case certificateIssue = "certificate-issue"
        case recordsPurge = "records-purge"
        case retentionRelease = "retention-release"
        case noticeMute = "notice-mute"
        case noticeUnmute = "notice-unmute"
        // Sessions in the console.
        case signIn = "sign-in"
        case signOut = "sign-out"
        // Actions of devices about their identity.
        case deviceEnroll = "device-enroll"
        case deviceReenroll = "device-reenroll"
        case deviceRotate = "device-rotate"
        case deviceUnenroll = "device-unenroll"
        /// Its history or claimed identity belongs to another device.
        case deviceConflict = "device-conflict"

        /// Whether devices cause it and not people, so there may be many.
        var isOfDevices: Bool {
            switch self {
            case .certificateIssue, .deviceEnroll, .deviceReenroll, .deviceRotate, .deviceUnenroll, .deviceConflict:
                true
            default: false
            }
        }
    }

    package enum Outcome: String, Sendable, CaseIterable {
        case done
        /// Nothing was changed; the detail says why.
        case refused
        /// It lasts longer than a transaction. Another entry with the same subject has the result.
        case begun
        /// A part may have been done; the detail says how much, and why no more.
        case failed
    }

    package var actor: AuditActor
    /// The organization whose data it concerns. Empty for the whole collector; only administrators of all organizations
    /// see those.
    package var organization: String
    package var action: Action
    /// The subject that was changed: the id of a token or device, or an application.
    package var subject: String
    /// Further facts by name; never a secret or a profile's content.
    package var detail: [String: String]
    package var outcome: Outcome

    package init(
        _ action: Action, by actor: AuditActor, organization: String, subject: String, detail: [String: String] = [:],
        outcome: Outcome = .done
    ) {
        self.actor = actor
        self.organization = organization
        self.action = action
        self.subject = subject
        self.detail = detail
        self.outcome = outcome
    }
}

extension AuditEntry {
    /// An action of a device.
    /// - Parameter leftOut: how often the same was left out since the last entry.
    package static func ofDevice(
        _ action: Action, _ device: DeviceID, organization: String, _ detail: [String: String], leftOut: Int,
        outcome: Outcome = .done
    ) -> AuditEntry {
        AuditEntry(
            action, by: .device(device), organization: organization, subject: device.description,
            detail: Self.detail(detail, leftOut: leftOut), outcome: outcome)
    }

    /// Facts with how often the same was left out, if it was.
    package static func detail(_ facts: [String: String], leftOut: Int) -> [String: String] {
        leftOut > 0 ? facts.merging(["leftOut": "\(leftOut)"]) { $1 } : facts
    }
}

/// An entry with its position in the trail.
package struct AuditRow: Equatable, Sendable {
    package var id: Int64
    /// Microseconds since 1970 by the collector's clock.
    package var at: Int64
    package var entry: AuditEntry
}

/// Selects entries.
package struct AuditQuery: Equatable, Sendable {
    /// `nil` for all, including those of the whole collector.
    package var organization: String?
    /// The actor's name, or the id of the actor's token.
    package var actor: String?
    package var action: AuditEntry.Action?
    /// The changed object: the id of a device or token, or an application.
    package var subject: String?
    /// Inclusive, microseconds since 1970.
    package var from: Int64?
    /// Exclusive.
    package var to: Int64?

    package init(
        organization: String? = nil, actor: String? = nil, action: AuditEntry.Action? = nil, subject: String? = nil,
        from: Int64? = nil, to: Int64? = nil
    ) {
        self.organization = organization
        self.actor = actor
        self.action = action
        self.subject = subject
        self.from = from
        self.to = to
    }
}

/// The actor of an entry in the audit trail.
package struct AuditActor: Equatable, Sendable, Codable {
    package var name: String
    /// The id of the token that was used; `nil` if none was.
    package var token: String?
    package var role: PersonRole?
    /// The id of the job over many devices that the actor began; `nil` for what the actor did at once.
    package var job: String?

    package init(name: String, token: String? = nil, role: PersonRole? = nil, job: String? = nil) {
        self.name = name
        self.token = token
        self.role = role
        self.job = job
    }

    package init(_ person: Person) {
        self.init(name: person.name, token: person.tokenID, role: person.role)
    }

    /// A device with its own credential or an enrollment token.
    package static func device(_ id: DeviceID) -> AuditActor { AuditActor(name: "device \(id)") }

    /// What the collector does by itself.
    package static let collector = AuditActor(name: "collector")

    /// A person who runs `ws1collector` on the collector's machine. Whoever may write its files may do everything.
    package static let commandLine = AuditActor(name: "command line")
}
