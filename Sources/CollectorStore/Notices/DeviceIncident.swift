import WireModel

/// What happened to a device's records that an administrator should know of.
package struct DeviceIncident: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// Records the collector once had, and has no more.
        case recordsLost
        /// Records lost on the device, to damage of its queue.
        case damagedOnDevice
        /// The device's history is another than the one that is stored.
        case identityConflict
    }

    package var kind: Kind
    package var device: DeviceID
    package var stream: StreamName

    package init(_ kind: Kind, device: DeviceID, stream: StreamName) {
        self.kind = kind
        self.device = device
        self.stream = stream
    }

    var code: NoticeRow.Code {
        switch kind {
        case .recordsLost: .recordsLost
        case .damagedOnDevice: .queueDamaged
        case .identityConflict: .identityConflict
        }
    }

    /// - Parameter count: how many records; how often, of a conflict.
    func detail(_ count: UInt64) -> String {
        switch kind {
        case .recordsLost:
            "\(count) records of the \(stream) stream are missing here that the device was told are stored. That is so after a restore from "
                + "backup, and where a record file was lost."
        case .damagedOnDevice:
            "\(count) records of the \(stream) stream were lost on the device: its queue was damaged. "
                + "What was still readable there was kept. "
                + "`ws1agent status` on the device tells what was found; its disk may be failing."
        case .identityConflict:
            "The device's history of the \(stream) stream is not the one that is stored: two machines may run with one identity, or an older "
                + "image of it was brought back. The device settles it by itself, or enrolls anew."
        }
    }
}
