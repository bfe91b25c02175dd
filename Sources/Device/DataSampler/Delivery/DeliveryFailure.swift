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

    /// A gate that holds data back.
    public enum ClosedGate: String, CaseIterable, Codable, Sendable {
        /// There is no way out of this machine. A ``DeliveryFailure`` is ``DeliveryFailure/offline`` then.
        case offline
        /// The proxy on the way to the collector fails. A ``DeliveryFailure`` is ``DeliveryFailure/offline`` then.
        case proxy
        /// Telemetry is disabled or suspended.
        case paused
        /// Do-not-disturb is on.
        case doNotDisturb = "do-not-disturb"
        /// The person has not decided on consent, or has denied it.
        case consent
        /// Profile or configuration disable logging. Of logs only.
        case logging
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
        let gate = ClosedGate(reason)
        self = [.offline, .proxy].contains(gate) ? .offline : .gateClosed(gate)
    }
}

extension DeliveryFailure.ClosedGate {
    init(_ reason: TransmissionGate.Reason) {
        self =
            switch reason {
            case .offline: .offline
            case .proxy: .proxy
            case .paused: .paused
            case .doNotDisturb: .doNotDisturb
            case .consent: .consent
            case .logging: .logging
            case .firstProfile: .firstProfile
            case .network: .network
            case .ssid: .ssid
            case .metered: .metered
            case .roaming: .roaming
            case .battery: .battery
            case .power: .power
            case .stalled: .stalled
            }
    }
}
