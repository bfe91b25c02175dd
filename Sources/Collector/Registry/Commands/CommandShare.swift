import WireModel

/// The room that an open command uses. Each share of a device's open commands has room of its own, so no number of
/// other commands makes a wipe or a cancellation impossible. All commands of a device fit into one answer.
package enum CommandShare: Hashable, CaseIterable {
    case wipes
    case cancellations
    /// Each is large, and every answer repeats it until the device has reported its end.
    case messages
    case others

    init(_ action: WireCommand.OneOf_Action?) {
        self =
            switch action {
            case .wipe, .enterpriseWipe: .wipes
            case .cancel: .cancellations
            case .message: .messages
            case .requestLogs, .sendBeacon, .queryDeviceInformation, .reloadProfile, .changeLogLevel, nil: .others
            }
    }

    /// The most open commands of one device.
    var limitPerDevice: Int {
        switch self {
        case .wipes, .messages: 8
        case .cancellations, .others: 32
        }
    }

    /// Only these count for the limits of an organization. The shares of the rest are small.
    var countsForOrganization: Bool { self == .others || self == .messages }
}

extension WireCommand {
    package var share: CommandShare { CommandShare(action) }

    /// The places that it takes of those of its organization.
    var places: Int { action?.places ?? 1 }

    /// A wipe erases what other commands ask for, and the device's memory of them: it would carry out again what it is
    /// sent again. Cancellations stay, because one may be of a former wipe.
    func isEnded(by later: WireCommand) -> Bool { later.share == .wipes && share.countsForOrganization }
}

extension WireCommand.OneOf_Action {
    /// The places that such a command takes of those of its organization; 0 if it does not count. The places bound the
    /// memory of open commands, so a message takes one for each KiB that it begins.
    var places: Int {
        guard CommandShare(self).countsForOrganization else { return 0 }
        guard case .message(let message) = self else { return 1 }
        return max(1, (message.text.utf8.count + message.payload.count + 1023) / 1024)
    }
}
