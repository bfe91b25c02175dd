import WireModel

/// The room that an open command uses. Each share of a device's open commands has room of its own, so no number of
/// other commands makes a wipe or a cancellation impossible. All commands of a device fit into one answer.
package enum CommandShare: Hashable, CaseIterable {
    case wipes
    case cancellations
    case others

    init(_ action: WireCommand.OneOf_Action?) {
        self =
            switch action {
            case .wipe, .enterpriseWipe: .wipes
            case .cancel: .cancellations
            case .requestLogs, .sendBeacon, .queryDeviceInformation, .reloadProfile, .changeLogLevel, nil: .others
            }
    }

    /// The most open commands of one device.
    var limitPerDevice: Int {
        switch self {
        case .wipes: 8
        case .cancellations, .others: 32
        }
    }

    /// Only these count for the limits of an organization. The shares of the rest are small.
    var countsForOrganization: Bool { self == .others }
}

extension WireCommand {
    package var share: CommandShare { CommandShare(action) }

    /// A wipe erases what other commands ask for, and the device's memory of them: it would carry out again what it is
    /// sent again. Cancellations stay, because one may be of a former wipe.
    func isEnded(by later: WireCommand) -> Bool { later.share == .wipes && share == .others }
}
