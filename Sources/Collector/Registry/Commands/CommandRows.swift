import FoundationEssentials
import RecordStore
import WipeCertificates
import WireModel

package enum CommandSubject {}
/// Identifies a command. Never reused.
package typealias CommandID = Identifier<CommandSubject>

/// A command for one enrollment of a device, and its progress.
package struct CommandRow: Equatable, Sendable {
    package var device: DeviceID
    /// The form that the device receives, with id, expiry and enrollment.
    package var command: WireCommand
    /// Microseconds since 1970 by the collector's clock, like all times here.
    package var created: Int64
    package var expires: Int64
    /// Who issued it.
    package var issuer: String
    package var status: CommandStatus
    /// When the device last reported about it.
    package var updated: Int64?

    package var id: CommandID? { CommandID(command.id) }

    /// The state at a time. A command without a final state has expired after its expiry.
    package func state(at now: Int64) -> WireCommandState {
        !status.isFinal && expires <= now ? .expired : status.state
    }
}

/// A command that a transaction has issued, or had issued before.
package struct IssuedCommand: Equatable, Sendable {
    package var row: CommandRow
    /// The device's.
    package var organization: String
    /// `false` for the command of a former request with the same key.
    var isNew: Bool
}

/// A position in a device's list of commands, newest first.
package struct CommandPosition: Equatable, Sendable {
    package var created: Int64
    package var id: CommandID

    package init(created: Int64, id: CommandID) {
        self.created = created
        self.id = id
    }
}

/// A command to issue.
package struct NewCommand: Equatable, Sendable {
    package var device: DeviceID
    /// Its action. Id, expiry and enrollment are set when it is issued.
    package var action: WireCommand.OneOf_Action
    package var expires: Int64
    package var issuer: AuditActor
    /// Repeated requests with the same key issue one command.
    package var idempotencyKey: String?
    /// The request's bytes, to notice if a key is used for something else.
    package var request: Data

    package init(
        device: DeviceID, action: WireCommand.OneOf_Action, expires: Int64, issuer: AuditActor, idempotencyKey: String?,
        request: Data
    ) {
        self.device = device
        self.action = action
        self.expires = expires
        self.issuer = issuer
        self.idempotencyKey = idempotencyKey
        self.request = request
    }
}

package enum IssueError: StoreRefusal, Equatable, Sendable {
    case unknownDevice
    /// The device was unenrolled or revoked, so nothing reaches it.
    case deviceLeft
    /// The device is a resource of OTLP: no agent is there that could have a command.
    case deviceWithoutAgent
    /// The command to cancel does not belong to this device.
    case unknownCommand
    /// The device has the most waiting commands it may have.
    case tooMany(limit: Int)
    /// The idempotency key was used for another command.
    case keyUsed
    case store(StoreError)
}

/// The progress of a command as its device reports it. Pure.
package struct CommandStatus: Equatable, Sendable {
    /// `unspecified` until the device reports something.
    package var state = WireCommandState.unspecified
    /// The progress in ten-thousandths.
    package var progress: UInt32 = 0
    package var detail = ""
    package var information: WireDeviceInformation?
    /// What the device sent as the certificate of a wipe, and what the collector found; `nil` for none.
    package var certificate: WipeCertificateFile?

    /// The most bytes of a detail.
    private static let detailBytes = 4096

    package init() {}

    /// Whether the state is final.
    package var isFinal: Bool { Self.rank(state) >= Self.rank(.expired) }

    /// A result of done or failed is kept. Before that, a later report replaces an earlier one, but a state never goes
    /// back: not from running to received, and from expired only to an end that the device reports.
    package mutating func apply(_ result: WireCommandResult) {
        let (known, said) = (Self.rank(state), Self.rank(result.state))
        guard said > 0, known < Self.rank(.done), said >= known else { return }
        state = result.state
        progress = result.state == .done ? 10_000 : min(result.progress, 10_000)
        detail = String(decoding: result.detail.utf8.prefix(Self.detailBytes), as: UTF8.self)
        if result.hasDeviceInformation { information = result.deviceInformation }
    }

    /// A state of a later version of the wire counts as running: it is neither unknown nor an end.
    private static func rank(_ state: WireCommandState) -> Int {
        switch state {
        case .unspecified: 0
        case .received: 1
        case .running, .notNow, .UNRECOGNIZED: 2
        case .expired: 3
        case .done, .failed, .unsupported: 4
        }
    }

    /// The final states, as SQL.
    package static let finalStates =
        "(" + WireCommandState.allCases.filter(isFinal).map { "\($0.rawValue)" }.joined(separator: ", ") + ")"

    /// Whether a state is final.
    static func isFinal(_ state: WireCommandState) -> Bool { rank(state) >= rank(.expired) }
}
