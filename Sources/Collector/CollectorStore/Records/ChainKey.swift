import WireModel

/// One life of a device's queue. With a stream it names one chain.
package struct ChainKey: Hashable, Sendable {
    package let device: DeviceID
    package let epoch: EpochID

    package init(device: DeviceID, epoch: EpochID) {
        self.device = device
        self.epoch = epoch
    }
}
