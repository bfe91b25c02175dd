import WireModel

/// What the person whose device it is has said to being sampled.
public enum DataSamplerConsent: String, Codable, CaseIterable, Sendable {
    /// Records are made and sent.
    case granted
    /// Nobody has been asked yet: records are made and kept apart on the device until it is decided.
    case pending
    /// No records are made; what was kept apart or waited to be sent is deleted, and counted.
    case denied
}

extension DataSamplerConsent {
    var wire: WireConsent {
        switch self {
        case .granted: .granted
        case .pending: .pending
        case .denied: .denied
        }
    }
}
