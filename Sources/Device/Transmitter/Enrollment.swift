import FoundationEssentials
import WireModel

/// What a device got when it enrolled: who it is, and whom it speaks to.
package struct Enrollment: Equatable, Sendable {
    package var deviceID: DeviceID
    /// The device's secret. Never logged.
    package var credential: String
    /// The secret before the last rotation, until the new one was taken once. Where the new one is refused, this one is
    /// presented.
    package var formerCredential: String?
    /// The same after that: the collector does not take it any more, but one that is restored from a backup of before
    /// knows only this one. It is `formerCredential` again once the collector's incarnation changes.
    package var spareCredential: String?
    package var organization: String
    package var collectorID: CollectorID
    /// As last heard: a collector restored from a backup has another one.
    package var incarnationID: IncarnationID
    /// 16 bytes, another at every enrollment that is not a repeat; empty where the collector gave none. Commands belong
    /// to it.
    package var enrollmentID: Data
    /// The device's client certificate with those of the authorities above it, PEM; empty where it was given none.
    package var certificate = ""
    /// The one before the last renewal, kept for as long as `formerCredential`.
    package var formerCertificate = ""
    /// With `spareCredential`.
    package var spareCertificate = ""

    /// When `credential` was given, by the collector's clock, microseconds since 1970; `nil`: an earlier version kept
    /// no time.
    package var credentialSince: Int64?

    package init(
        deviceID: DeviceID, credential: String, formerCredential: String? = nil, organization: String,
        collectorID: CollectorID,
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

/// What a device's directory says of its enrollment.
package enum EnrollmentState: Equatable, Sendable {
    /// Never enrolled.
    case none
    case enrolled(Enrollment)
    /// Enrolled, but on another machine: this directory is a copy.
    case clone(of: Enrollment)
    /// Gave its enrollment up. It enrolls again only with another token than the one it had then.
    case unenrolled(DeviceID)
}

/// As what a device asks to be enrolled.
package enum EnrollmentRole: Equatable, Sendable {
    case new
    /// Keeps the device id, proved by the old credential.
    case again(Enrollment)
    /// Asks for the device id it once had and can no longer prove.
    case returning(DeviceID)
}

/// Keeps the enrollment on disk and knows what an enrollment request says of this device. Safe from any thread.
package protocol EnrollmentStore: Sendable {
    func state() throws -> EnrollmentState
    /// Returns once it is on synced disk. Ends the request that led to it: the next one gets an id of its own.
    func save(_ enrollment: Enrollment) throws
    /// Forgets the credential and keeps the device id; returns once that is on synced disk.
    func unenroll() throws
    /// From flag, file or environment; `nil` where none may be used: none was given, or only the one that the device
    /// had when it unenrolled.
    func enrollmentToken() throws -> String?
    /// The request's id is on synced disk before this returns, and the same until `save`, so that asking again after a
    /// lost answer or a kill makes no second device.
    func enrollRequest(as role: EnrollmentRole) throws -> WireEnrollRequest
    /// The request for a client certificate that the device was configured with, DER; `nil` where it was configured
    /// with none.
    func signingRequest() throws -> Data?
}

extension EnrollmentStore {
    /// The enrollment in force; `nil` where there is none.
    package func load() throws -> Enrollment? {
        if case .enrolled(let enrollment) = try state() { enrollment } else { nil }
    }
}
