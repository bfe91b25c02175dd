import Transmitter

/// Why data was not acknowledged in time; the ``DataSamplerError/cause`` of `notDelivered`.
///
/// Except after `refused`, the data stays on disk and is sent as soon as that is possible.
public enum DeliveryFailure: Error, Hashable, Sendable {
    /// The collector was not reached.
    case offline
    /// The device holds this data back.
    case gateClosed(ClosedGate)
    /// The device is not enrolled, though the collector can be reached or was not asked.
    case notEnrolled
    /// The collector rejects the device or the data, or the device dropped the data.
    case refused
    /// The collector has not answered yet.
    case timedOut

    /// What holds data back.
    public enum ClosedGate: String, CaseIterable, Codable, Sendable {
        /// Telemetry is disabled, suspended, or in do-not-disturb.
        case paused
        /// The person has not decided on consent.
        case consent
        /// There is no profile yet.
        case firstProfile = "first-profile"
        /// The profile does not allow the class of the present network.
        case network
        /// The profile does not allow the present Wi-Fi network, or its name is unknown.
        case ssid
        /// The profile does not allow a metered network.
        case metered
        /// The profile does not allow roaming.
        case roaming
        /// The battery level is below the profile's minimum, or unknown.
        case battery
        /// The profile requires external power.
        case power
        /// The machine is busy.
        case stalled
    }

    /// - Parameter reason: of a closed gate.
    init(_ reason: TransmissionGate.Reason) {
        self =
            switch reason {
            case .offline: .offline
            case .paused: .gateClosed(.paused)
            case .consent: .gateClosed(.consent)
            case .firstProfile: .gateClosed(.firstProfile)
            case .network: .gateClosed(.network)
            case .ssid: .gateClosed(.ssid)
            case .metered: .gateClosed(.metered)
            case .roaming: .gateClosed(.roaming)
            case .battery: .gateClosed(.battery)
            case .power: .gateClosed(.power)
            case .stalled: .gateClosed(.stalled)
            }
    }
}
