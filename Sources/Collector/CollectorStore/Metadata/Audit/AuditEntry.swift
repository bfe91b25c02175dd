import WireModel

/// What somebody changed, or was refused to change. Written in the transaction of the change: neither is on disk
/// without the other.
package struct AuditEntry: Equatable, Sendable {
    /// The raw value is on disk and in answers.
    package enum Action: String, Sendable, CaseIterable {
        case tokenCreate = "token-create"
        case tokenRevoke = "token-revoke"
        case organizationCreate = "organization-create"
        case profilePut = "profile-put"
        case profileRollback = "profile-rollback"
        case commandIssue = "command-issue"
        case deviceRevoke = "device-revoke"
        case deviceReinstate = "device-reinstate"
        case deviceDelete = "device-delete"
        case devicePredecessor = "device-predecessor"
        case logsDelete = "logs-delete"
        case certificateIssue = "certificate-issue"
        case recordsPurge = "records-purge"
        case retentionRelease = "retention-release"
        // What devices do about who they are.
        case deviceEnroll = "device-enroll"
        case deviceReenroll = "device-reenroll"
        case deviceRotate = "device-rotate"
        case deviceUnenroll = "device-unenroll"
        /// Its history, or who it says it is, is another's.
        case deviceConflict = "device-conflict"

        /// Whether devices do it by themselves, and not people: there may be many of it.
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
        /// It takes longer than a transaction: another entry of the same subject tells how it ended.
        case begun
        /// Some of it may have been done; the detail says how much, and why no more.
        case failed
    }

    package var actor: AuditActor
    /// Whose data it concerns; empty: the whole collector, shown only to those who see all organizations.
    package var organization: String
    package var action: Action
    /// What was changed: a token's id, a device's, an application.
    package var subject: String
    /// More of it, by name; never a secret, never a profile's content.
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
    /// What a device did.
    /// - Parameter leftOut: how often it did the same since that was last told.
    static func ofDevice(
        _ action: Action, _ device: DeviceID, organization: String, _ detail: [String: String], leftOut: Int,
        outcome: Outcome = .done
    ) -> AuditEntry {
        var detail = detail
        if leftOut > 0 { detail["leftOut"] = "\(leftOut)" }
        return AuditEntry(
            action, by: .device(device), organization: organization, subject: device.description, detail: detail,
            outcome: outcome)
    }
}

/// An entry with its place in the trail.
package struct AuditRow: Equatable, Sendable {
    package var id: Int64
    /// Microseconds since 1970 by the collector's clock.
    package var at: Int64
    package var entry: AuditEntry
}

package struct AuditPage: Equatable, Sendable {
    package var rows: [AuditRow]
    /// The id below which the next page begins.
    package var next: Int64?
}

/// Which entries somebody asks for.
package struct AuditQuery: Equatable, Sendable {
    /// `nil`: all, and those of the whole collector.
    package var organization: String?
    /// The actor's name, or the id of the actor's token.
    package var actor: String?
    package var action: AuditEntry.Action?
    /// Inclusive, microseconds since 1970.
    package var from: Int64?
    /// Exclusive.
    package var to: Int64?

    package init(
        organization: String? = nil, actor: String? = nil, action: AuditEntry.Action? = nil, from: Int64? = nil,
        to: Int64? = nil
    ) {
        self.organization = organization
        self.actor = actor
        self.action = action
        self.from = from
        self.to = to
    }
}

/// Who did something that the audit trail tells of.
package struct AuditActor: Equatable, Sendable, Codable {
    package var name: String
    /// The id of the token it was done with; `nil` where it was done without one.
    package var token: String?
    package var role: PersonRole?

    package init(name: String, token: String? = nil, role: PersonRole? = nil) {
        self.name = name
        self.token = token
        self.role = role
    }

    package init(_ person: Person) {
        self.init(name: person.name, token: person.tokenID, role: person.role)
    }

    /// A device, with its own credential or an enrollment token.
    package static func device(_ id: DeviceID) -> AuditActor { AuditActor(name: "device \(id)") }

    /// Whoever runs `ws1collector` on the collector's machine: who may write its files may do everything.
    package static let commandLine = AuditActor(name: "command line")
}
