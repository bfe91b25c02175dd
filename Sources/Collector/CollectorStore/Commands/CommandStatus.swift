import FoundationEssentials
import WireModel

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

    /// What was done or failed stays so. Before that a later word replaces an earlier one, but nothing goes back: not from running to
    /// received, and from expired only to an end that the device reports.
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
    static let finalStates = "(" + WireCommandState.allCases.filter(isFinal).map { "\($0.rawValue)" }.joined(separator: ", ") + ")"

    /// Whether a state ends a command.
    static func isFinal(_ state: WireCommandState) -> Bool { rank(state) >= rank(.expired) }
}
