import FoundationEssentials
import WireModel

/// What a device got when it enrolled: who it is, and whom it speaks to.
package struct Enrollment: Equatable, Sendable {
    package var deviceID: DeviceID
    /// The device's secret. Never logged.
    package var credential: String
    /// The secret before the last rotation, until the new one was taken once. Where the new one is refused, this one is presented.
    package var formerCredential: String?
    /// The same after that: the collector does not take it any more, but one that is restored from a backup of before knows only this one. It is
    /// `formerCredential` again once the collector's incarnation changes.
    package var spareCredential: String?
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
    /// With `spareCredential`.
    package var spareCertificate = ""

    /// When `credential` was given, by the collector's clock, microseconds since 1970; `nil`: an earlier version kept no time.
    package var credentialSince: Int64?

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
