import Transmitter
import WireModel

extension DataSampler {
    /// Sends the device's status now. Returns once the beacon is on synced disk; it goes to the collector at once where that can be reached,
    /// and as soon as it can be otherwise. A collector that has refused this device is asked again at once.
    ///
    /// One beacon is made at a time: a call that comes meanwhile shares its outcome, unless something the beacon tells has changed since.
    ///
    /// - Throws: `notRunning`, `telemetryDisabled`, `wipePending`, `unenrolled`, `queueFull`, `queue`.
    public func sendBeacon() async throws(DataSamplerError) { _ = try await sendBeaconNumbered() }

    /// Starts to send beacons on a schedule; the first goes at once. A second start replaces the schedule.
    ///
    /// - Parameter transmitFrequency: seconds between two; less than 60 or not finite is 60 (ws1), more than 86,400 is 86,400.
    /// - Throws: `notRunning`.
    public func startSendingDeviceStatusBeacon(transmitFrequency: Double = 60) async throws(DataSamplerError) {
        await (try running()).controller.scheduleBeacons(every: transmitFrequency)
    }

    /// Ends the schedule. Idempotent, and harmless while nothing runs.
    public func stopSendingDeviceStatusBeacon() async {
        await (try? running())?.controller.scheduleBeacons(every: nil)
    }

    /// - Returns: the beacon's number in the status stream.
    package func sendBeaconNumbered() async throws(DataSamplerError) -> UInt64 {
        let parts = try running().parts
        let number = try await parts.loop.sendBeacon(.demand)
        // Somebody asks now, perhaps because what sending was on hold for is over.
        parts.transmitter.tryNow()
        return number
    }
}
