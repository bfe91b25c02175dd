import Crypto
import FoundationEssentials
import RecordStore
import WireModel

package enum DeviceJobSubject {}
/// Identifies an action on many devices. Never reused.
package typealias DeviceJobID = Identifier<DeviceJobSubject>

/// The action of a job on each of its devices.
package enum DeviceJobAction: Equatable, Sendable {
    /// - Parameter expires: microseconds since 1970. Devices that the job has not come to by then get none.
    case command(WireCommand.OneOf_Action, expires: Int64)
    case revoke(closingToken: Bool)
    case reinstate
    case doNotDisturb(Bool)
    case delete

    /// The kind as in the HTTP API, in the audit trail and on disk.
    package enum Kind: String, Sendable, CaseIterable {
        case command
        case revoke
        case reinstate
        case doNotDisturb = "do-not-disturb"
        case delete
    }

    package var kind: Kind {
        switch self {
        case .command: .command
        case .revoke: .revoke
        case .reinstate: .reinstate
        case .doNotDisturb: .doNotDisturb
        case .delete: .delete
        }
    }

    /// Whether it destroys what a device has in the enrollment that was confirmed, so that it is not for a later one.
    var isForOneEnrollment: Bool {
        switch self {
        case .command(.wipe, _), .command(.enterpriseWipe, _), .delete: true
        case .command, .revoke, .reinstate, .doNotDisturb: false
        }
    }
}

/// A device that was selected for a job.
package struct SelectedDevice: Equatable, Sendable {
    package var id: DeviceID
    /// Its latest enrollment, microseconds since 1970. Another enrollment has another time.
    package var enrolled: Int64
}

/// The devices that were selected for a job, ascending by id.
package struct DeviceSelection: Equatable, Sendable {
    package private(set) var devices: [SelectedDevice]

    /// - Parameter devices: in any order; each once.
    package init(_ devices: some Sequence<SelectedDevice>) {
        self.devices = devices.sorted { ($0.id.high, $0.id.low) < ($1.id.high, $1.id.low) }
    }

    /// The text that a person sends to confirm that the action is for these devices in their present enrollments: their
    /// number and a digest. How long a command lasts is not part of it.
    package func confirmation(of action: DeviceJobAction) -> String {
        var digest = SHA256()
        digest.update(data: Data("\(action.kind.rawValue) \(action.flag)\n".utf8))
        if case .command(let command, _) = action { digest.update(data: Data(SHA256.hash(data: command.bytes))) }
        for device in devices {
            withUnsafeBytes(of: (device.id.high, device.id.low, device.enrolled)) { digest.update(bufferPointer: $0) }
        }
        return "\(devices.count)-\(Data(digest.finalize().prefix(16)).hexadecimal)"
    }
}

/// A job to begin.
package struct NewDeviceJob: Equatable, Sendable {
    package var action: DeviceJobAction
    package var selection: DeviceSelection
    /// The organization of all its devices; `nil` if they may be of several. Its people see the job.
    package var organization: String?
    /// How the devices were selected, as JSON, to be shown; `nil` if they were named.
    package var filter: String?
    package var actor: AuditActor
    /// Repeated requests of the actor's token with the same key begin one job.
    package var idempotencyKey: String?
    /// The request's bytes, to notice if a key is used for something else.
    package var request: Data

    package init(
        action: DeviceJobAction, selection: DeviceSelection, organization: String?, filter: String?, actor: AuditActor,
        idempotencyKey: String?, request: Data
    ) {
        self.action = action
        self.selection = selection
        self.organization = organization
        self.filter = filter
        self.actor = actor
        self.idempotencyKey = idempotencyKey
        self.request = request
    }
}

/// A job and its progress.
package struct DeviceJobRow: Equatable, Sendable {
    /// The raw value is used on disk.
    package enum State: Int, Sendable, CaseIterable {
        /// Its devices are being written down. A crash undoes it.
        case preparing = 0
        case running = 1
        case done = 2
        /// It ended before it came to all of its devices.
        case cancelled = 3
        /// Over the limits of what is kept: it is being removed, and nobody sees it.
        case removed = 4
    }

    /// Its place among all jobs, in the order of their beginning.
    package var row: Int64
    package var id: DeviceJobID
    package var organization: String?
    package var action: DeviceJobAction
    package var filter: String?
    package var actor: AuditActor
    /// Microseconds since 1970 by the collector's clock, like all times here.
    package var created: Int64
    package var ended: Int64?
    /// Who cancelled it, or why it ended early.
    package var endReason: String?
    package var state: State
    package var devices: Int
    package var done: Int
    package var refused: Int

    /// Devices that it has not come to.
    package var remaining: Int { devices - done - refused }
}

/// The outcome of a job for one device.
package struct DeviceJobResult: Equatable, Sendable {
    /// The raw value is used on disk.
    package enum Outcome: Int, Sendable, CaseIterable {
        case waiting = 0
        case done = 1
        case refused = 2
    }

    package var device: DeviceID
    /// `nil` if it is deleted.
    package var name: String?
    package var outcome: Outcome
    /// The code of the problem with which the single action would have been refused.
    package var code: String?
    package var detail: String?
    /// The command that was issued.
    package var command: CommandID?
    package var at: Int64?
}

/// Why a job's action was refused for one device.
package enum DeviceJobRefusal: Equatable, Sendable {
    case command(IssueError)
    case administration(AdministrationError)
    case doNotDisturb(DoNotDisturbError)
    /// It has enrolled again since the job began.
    case enrolledAgain
    /// The command expired before the job came to the device.
    case expired
}

package enum DeviceJobError: StoreRefusal, Equatable, Sendable {
    /// The organization has the most unfinished jobs it may have.
    case tooMany(limit: Int)
    /// The idempotency key was used for another job.
    case keyUsed
    case store(StoreError)
}

extension DeviceJobAction {
    var flag: Bool {
        switch self {
        case .revoke(let closingToken): closingToken
        case .doNotDisturb(let isOn): isOn
        case .command, .reinstate, .delete: false
        }
    }
}

extension WireCommand.OneOf_Action {
    /// The bytes as a command without id, expiry and enrollment.
    package var bytes: Data {
        var command = WireCommand()
        command.action = self
        return command.encoded
    }
}
