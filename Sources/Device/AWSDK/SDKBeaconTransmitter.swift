import DataSampler
import Foundation

/// The documented shape of a beacon's completion (ws1): `{ success, error in ... }`. The type of the error is ours.
public typealias SendBeaconCompletion = SDKCompletion

/// Sends the device's status (ws1). A beacon also goes by itself at the start and when the status changes.
public final class SDKBeaconTransmitter: Sendable {
    private let engine: SDKEngine

    /// The transmitter of this process (ws1).
    public static let sharedTransmitter = SDKBeaconTransmitter(engine: .shared)

    init(engine: SDKEngine) { self.engine = engine }

    /// This transmitter, so that `sharedTransmitter()` of 18.5 compiles, too.
    public func callAsFunction() -> SDKBeaconTransmitter { self }

    /// Sends a beacon at once (ws1).
    ///
    /// - Parameter completion: success once the collector has stored it. An error within 60 seconds otherwise; the
    ///   beacon then waits on disk, unless it was refused. `nil`: a failure is logged only.
    public func sendDeviceStatusBeacon(completion: SendBeaconCompletion?) {
        let limit = engine.deliveryLimit
        engine.call("sendDeviceStatusBeacon", { try await $0.sendBeacon(deliveredWithin: limit) }, then: completion)
    }

    /// Sends a changed push token at once (ws1). Every beacon contains it until the collector has it.
    ///
    /// - Parameters:
    ///   - updatedAPNSToken: 1 to 4,096 bytes; `nil` clears the token at the collector. An unchanged one is not sent.
    ///   - completion: success once the collector has the token. An error within 60 seconds otherwise. `nil`: a failure
    ///     is logged only.
    public func sendBeacon(updatedAPNSToken: String?, completion: SendBeaconCompletion?) {
        let limit = engine.deliveryLimit
        engine.call(
            "sendBeacon", { try await $0.setPushToken(updatedAPNSToken, deliveredWithin: limit) }, then: completion)
    }

    /// Sends a beacon now and then on a schedule (ws1). A second call replaces the schedule.
    ///
    /// - Parameter transmitFrequency: seconds between two beacons. Less than 60 becomes 60 (ws1), more than 86,400
    ///   becomes 86,400.
    public func startSendingDeviceStatusBeacon(transmitFrequency: TimeInterval = 60) {
        engine.call(
            "startSendingDeviceStatusBeacon", isOrdered: true,
            { try await $0.startSendingDeviceStatusBeacon(transmitFrequency: transmitFrequency) },
            then: nil as SDKCompletion?)
    }

    /// Ends the schedule (ws1).
    public func stopSendingDeviceStatusBeacon() {
        engine.call(
            "stopSendingDeviceStatusBeacon", isOrdered: true, { await $0.stopSendingDeviceStatusBeacon() },
            then: nil as SDKCompletion?)
    }
}
