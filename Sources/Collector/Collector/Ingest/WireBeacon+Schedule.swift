import WireModel

extension WireBeacon {
    /// The schedule the device keeps, as far as the beacon tells: 0: it keeps none any more; `nil`: it does not say.
    ///
    /// The last beacon of a program that ends, or one made by hand while none runs, is followed by no other until the
    /// program is started again. That is no word of the schedule: a device that was stopped is missed like any other.
    var schedule: UInt32? {
        if nextBeaconSeconds > 0 { return nextBeaconSeconds }
        return trigger == .stop || trigger == .demand ? nil : 0
    }
}
