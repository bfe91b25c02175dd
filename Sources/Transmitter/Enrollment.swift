import FoundationEssentials
import WireModel

/// What a device got when it enrolled: who it is, and whom it speaks to.
package struct Enrollment: Equatable, Sendable {
    package var deviceID: DeviceID
    /// The device's secret. Never logged.
    package var credential: String
    /// The secret before the last rotation, kept until the new one was taken once: a collector restored from a backup may know only this one.
    package var formerCredential: String?
    package var organization: String
    package var collectorID: CollectorID
    /// As last heard: a collector restored from a backup has another one.
    package var incarnationID: IncarnationID
    /// 16 bytes, another at every enrollment that is not a repeat; empty where the collector gave none. Commands belong to it.
    package var enrollmentID: Data
    /// The device's client certificate with those of the authorities above it, PEM; empty where it was given none.
    package var certificate = ""
    /// The one before the last renewal, kept for as long as `formerCredential`.
    package var formerCertificate = ""

    package init(
        deviceID: DeviceID, credential: String, formerCredential: String? = nil, organization: String, collectorID: CollectorID,
        incarnationID: IncarnationID, enrollmentID: Data = Data()
    ) {
        self.deviceID = deviceID
        self.credential = credential
        self.formerCredential = formerCredential
        self.organization = organization
        self.collectorID = collectorID
        self.incarnationID = incarnationID
        self.enrollmentID = enrollmentID
    }
}
