import WireModel

/// An incident with a device's records that an administrator should know.
package struct DeviceIncident: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// The collector lost records that it had.
        case recordsLost
        /// The device lost records because its queue was damaged.
        case damagedOnDevice
        /// The device's history differs from the stored one.
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
}
