import FoundationEssentials
import WireModel

package enum CommandSubject {}
/// A command, for ever.
package typealias CommandID = Identifier<CommandSubject>

/// A command of one enrollment of a device, and what is known of how it went.
package struct CommandRow: Equatable, Sendable {
    package var device: DeviceID
    /// As the device gets it: with id, expiry and enrollment.
    package var command: WireCommand
    /// Microseconds since 1970 by the collector's clock, as are all times here.
    package var created: Int64
    package var expires: Int64
    /// Who issued it.
    package var issuer: String
    package var status: CommandStatus
    /// When the device last said something of it.
    package var updated: Int64?

    package var id: CommandID? { CommandID(command.id) }

    /// The state at a time: what was not ended before its expiry has expired.
    package func state(at now: Int64) -> WireCommandState {
        !status.isFinal && expires <= now ? .expired : status.state
    }
}

package struct CommandPage: Equatable, Sendable {
    package var commands: [CommandRow]
    package var next: CommandPosition?
}

/// A place in a device's list of commands, newest first.
package struct CommandPosition: Equatable, Sendable {
    package var created: Int64
    package var id: CommandID

    package init(created: Int64, id: CommandID) {
        self.created = created
        self.id = id
    }
}

/// A command that is to be issued.
package struct NewCommand: Equatable, Sendable {
    package var device: DeviceID
    /// Its action; id, expiry and enrollment are set when it is issued.
    package var action: WireCommand.OneOf_Action
    package var expires: Int64
    package var issuer: AuditActor
    /// With it, the same request issues one command however often it comes.
    package var idempotencyKey: String?
    /// What was asked for, byte for byte, so that a key that is used for something else is noticed.
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

package enum IssueError: Error, Equatable, Sendable {
    case unknownDevice
    /// The device has left or was revoked: nothing reaches it.
    case deviceLeft
    /// The command to cancel is none of this device.
    case unknownCommand
    /// As many commands wait for the device as it may have.
    case tooMany(limit: Int)
    /// The idempotency key was used for another command.
    case keyUsed
    case store(StoreError)
}

/// How a command goes, by what its device says of it. Pure.
package struct CommandStatus: Equatable, Sendable {
    /// `unspecified`: the device has said nothing yet.
    package var state = WireCommandState.unspecified
    /// Ten-thousandths.
    package var progress: UInt32 = 0
    package var detail = ""
    package var information: WireDeviceInformation?

    /// A detail is kept up to so many bytes.
    private static let detailBytes = 4096

    package init() {}

    /// Whether nothing more can come of it.
    package var isFinal: Bool { Self.rank(state) >= Self.rank(.expired) }

    /// What was done or failed stays so. Before that a later word replaces an earlier one, but nothing goes back: not
    /// from running to received, and from expired only to an end that the device reports.
    package mutating func take(_ result: WireCommandResult) {
        let (known, said) = (Self.rank(state), Self.rank(result.state))
        guard said > 0, known < Self.rank(.done), said >= known else { return }
        state = result.state
        progress = result.state == .done ? 10_000 : min(result.progress, 10_000)
        detail = String(decoding: result.detail.utf8.prefix(Self.detailBytes), as: UTF8.self)
        if result.hasDeviceInformation { information = result.deviceInformation }
    }

    /// A state of a later version of the wire counts as running: it is neither nothing nor an end.
    private static func rank(_ state: WireCommandState) -> Int {
        switch state {
        case .unspecified: 0
        case .received: 1
        case .running, .notNow, .UNRECOGNIZED: 2
        case .expired: 3
        case .done, .failed, .unsupported: 4
        }
    }

    /// The states that end a command, as SQL.
    static let finalStates =
        "(" + WireCommandState.allCases.filter(isFinal).map { "\($0.rawValue)" }.joined(separator: ", ") + ")"

    /// Whether a state ends a command.
    static func isFinal(_ state: WireCommandState) -> Bool { rank(state) >= rank(.expired) }
}
