import DataSampler
import Foundation

/// Receives what happens to the SDK (ws1). Only ``controllerDidFinishInitialCheck(error:)`` is required.
///
/// All methods are called one after the other on one serial queue, never on the main queue; therefore it is `Sendable`,
/// which is ours.
public protocol AWControllerDelegate: AnyObject, Sendable {
    /// The initial check has ended (ws1). Other calls of the SDK may fail before.
    ///
    /// - Parameter error: `nil` if there is a profile; otherwise a number of ``AWSDKError`` and what to do.
    func controllerDidFinishInitialCheck(error: NSError?)

    /// A profile is in force: the stored one at a start, and each later one (ws1).
    func controllerDidReceive(profiles: [Profile])

    /// The enrollment has changed, or is known for the first time since the start (ws1).
    func controllerDidReceive(enrollmentStatus: EnrollmentStatus)

    /// Wait for the next ``controllerDidFinishInitialCheck(error:)`` (ws1). Called when
    /// ``WS1SDKContainerCleaner/destroyContainerData(completion:)`` begins.
    func controllerWillStartRefresh()

    /// The SDK has erased its data (ws1). The application erases its own. Use
    /// ``DataSampler/DataSamplerConfiguration/eraseHostData`` if the wipe must wait for that.
    func controllerDidWipeCurrentUserData()

    /// The time that the device may be without the collector is over, or the profile blocks the application (ws1). The
    /// SDK itself locks nothing.
    func controllerDidLockDataAccess()

    /// No reason for ``controllerDidLockDataAccess()`` is left (ws1).
    func controllerDidUnlockDataAccess()

    /// Data is not sent now (ws1). Called when that has lasted ten seconds, and again for another reason.
    func applicationShouldStopNetworkActivity(reason: NetworkActivityStatus)

    /// Everything may be sent again (ws1).
    func applicationCanResumeNetworkActivity()

    /// Another person uses the device (ws1). Called when logind says that another person than before has the session at
    /// the screen. Requires ``DataSampler/DataSamplerConfiguration/followsLogind``.
    func controllerDidDetectUserChange()

    /// ``controllerDidReceive(profiles:)`` by its name of 18.5.
    func receivedProfiles(_ profiles: NSArray)

    /// ``controllerDidReceive(enrollmentStatus:)`` by its name of 18.5.
    func didReceiveEnrollmentStatus(_ enrollmentStatus: EnrollmentStatus)

    /// ``controllerDidWipeCurrentUserData()`` by its name of 18.5.
    func wipe()

    /// ``applicationShouldStopNetworkActivity(reason:)`` by its name of 18.5.
    func stopNetworkActivity(_ networkActivityStatus: NetworkActivityStatus)

    /// ``applicationCanResumeNetworkActivity()`` by its name of 18.5.
    func resumeNetworkActivity()

    /// ``controllerDidDetectUserChange()`` by its name of 18.5.
    func userChanged()
}

extension AWControllerDelegate {
    /// Calls ``receivedProfiles(_:)``.
    public func controllerDidReceive(profiles: [Profile]) { receivedProfiles(NSArray(array: profiles)) }
    /// Calls ``didReceiveEnrollmentStatus(_:)``.
    public func controllerDidReceive(enrollmentStatus: EnrollmentStatus) {
        didReceiveEnrollmentStatus(enrollmentStatus)
    }
    /// Does nothing.
    public func controllerWillStartRefresh() {}
    /// Calls ``wipe()``.
    public func controllerDidWipeCurrentUserData() { wipe() }
    /// Does nothing.
    public func controllerDidLockDataAccess() {}
    /// Does nothing.
    public func controllerDidUnlockDataAccess() {}
    /// Calls ``stopNetworkActivity(_:)``.
    public func applicationShouldStopNetworkActivity(reason: NetworkActivityStatus) { stopNetworkActivity(reason) }
    /// Calls ``resumeNetworkActivity()``.
    public func applicationCanResumeNetworkActivity() { resumeNetworkActivity() }
    /// Calls ``userChanged()``.
    public func controllerDidDetectUserChange() { userChanged() }

    /// Does nothing.
    public func receivedProfiles(_ profiles: NSArray) {}
    /// Does nothing.
    public func didReceiveEnrollmentStatus(_ enrollmentStatus: EnrollmentStatus) {}
    /// Does nothing.
    public func wipe() {}
    /// Does nothing.
    public func stopNetworkActivity(_ networkActivityStatus: NetworkActivityStatus) {}
    /// Does nothing.
    public func resumeNetworkActivity() {}
    /// Does nothing.
    public func userChanged() {}
}

/// Whether the device is enrolled (ws1). The documentation does not list the cases; these are ours, after the three
/// that a beacon reports.
public enum EnrollmentStatus: Equatable, Sendable {
    /// It is enrolled.
    case enrolled
    /// It is not, or not any more.
    case unenrolled
    /// A wipe has begun.
    case wipePending
    /// Nothing has reported it yet.
    case unknown

    init(_ field: DeviceInformation.Field<DeviceInformation.Enrollment>?) {
        self =
            switch field {
            case .known(.enrolled)?: .enrolled
            case .known(.unenrolled)?: .unenrolled
            case .known(.wipePending)?: .wipePending
            case .unknown?, .notApplicable?, nil: .unknown
            }
    }
}

/// Why data is not sent (ws1). The documentation names four reasons and no cases; the cases are ours, and so are the
/// reasons from ``networkNotAllowed`` on.
public enum NetworkActivityStatus: Equatable, Sendable {
    /// The profile allows no sending while roaming.
    case roaming
    /// There is no way out of this machine, for instance in airplane mode.
    case offline
    /// The profile does not allow the present Wi-Fi network.
    case ssidNotAllowed
    /// The proxy fails.
    case proxyFailed
    /// The profile does not allow this class of network.
    case networkNotAllowed
    /// The profile does not allow metered networks.
    case metered
    /// The battery is too low, or external power is missing.
    case power
    /// Telemetry is disabled or paused, for instance by do-not-disturb.
    case paused

    init(_ gate: DeliveryFailure.ClosedGate) {
        self =
            switch gate {
            case .roaming: .roaming
            case .offline: .offline
            case .ssid: .ssidNotAllowed
            case .proxy: .proxyFailed
            case .network: .networkNotAllowed
            case .metered: .metered
            case .battery, .power: .power
            case .paused, .doNotDisturb, .consent, .logging, .firstProfile, .stalled: .paused
            }
    }
}
