import CollectorStore
import Foundation

/// A certificate as it goes to the device, and what is remembered of it.
struct IssuedCertificate: Sendable {
    /// PEM: the device's first, then the authorities between it and a root.
    let chain: Data
    let record: DeviceCertificate
}
