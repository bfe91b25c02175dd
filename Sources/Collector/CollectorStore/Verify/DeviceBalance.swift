import WireModel

/// A device's balances, one for each epoch and stream.
package struct DeviceBalance: Equatable, Sendable {
    package var device: DeviceID
    package var epochs: [EpochBalance]
}
