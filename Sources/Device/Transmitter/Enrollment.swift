import FoundationEssentials
import WireModel

/// The result of enrolling: the device's identity and its collector.
package struct Enrollment: Equatable, Sendable {
    package var deviceID: DeviceID
    /// The device's secret. Never logged.
    package var credential: String
    /// The secret before the last rotation, kept until the new one was accepted once. It is used if the new one is
    /// refused.
    package var formerCredential: String?
    /// The former secret after the new one was accepted. A collector restored from an older backup knows only this one.
    /// It becomes `formerCredential` again when the collector's incarnation changes.
    package var spareCredential: String?
    package var organization: String
    package var collectorID: CollectorID
    /// The last known incarnation. It changes when the collector is restored from a backup.
    package var incarnationID: IncarnationID
    /// 16 bytes that change with every enrollment except a repeated one; empty if the collector gave none. Commands
    /// belong to it.
    package var enrollmentID: Data
    /// The device's client certificate and those of the authorities above it, PEM. Empty if none was issued.
    package var certificate = ""
    /// The certificate before the last renewal, kept as long as `formerCredential`.
    package var formerCertificate = ""
    /// Kept with `spareCredential`.
    package var spareCertificate = ""

    /// The private key of this enrollment, 32 bytes: the device signs its wipe certificates with it. `nil` if it
    /// enrolled with a version that made none. Never logged.
    package var wipeKey: Data?
    /// When `credential` was issued, by the collector's clock, in microseconds since 1970. `nil` if the collector did
    /// not send its time.
    package var credentialSince: Int64?

    package init(
        deviceID: DeviceID, credential: String, formerCredential: String? = nil, organization: String,
        collectorID: CollectorID, incarnationID: IncarnationID, enrollmentID: Data = Data()
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

/// The device's enrollment as its directory shows it.
package enum EnrollmentState: Equatable, Sendable {
    /// The device was never enrolled.
    case none
    case enrolled(Enrollment)
    /// The enrollment belongs to another machine: this directory is a copy.
    case clone(of: Enrollment)
    /// The device was unenrolled. It enrolls again only with another token than it had then.
    case unenrolled(DeviceID)
}

/// The identity with which a device enrolls.
package enum EnrollmentRole: Equatable, Sendable {
    case new
    /// The device keeps its id and proves it with the old credential.
    case again(Enrollment)
    /// The device asks for the id it had and cannot prove it any more.
    case returning(DeviceID)
    /// The collector refused the id that the device had, so it becomes a new device. Its request has the id of the
    /// refused one: the next start asks for the former id first, and that is then a repeat.
    case successor(of: DeviceID)

    /// The device that the request asks for or replaces; `nil` for none. The request's id belongs to it.
    package var former: DeviceID? {
        switch self {
        case .new: nil
        case .again(let former): former.deviceID
        case .returning(let former), .successor(let former): former
        }
    }
}

/// Stores the enrollment on disk and composes enrollment requests. Safe from any thread.
package protocol EnrollmentStore: Sendable {
    func state() throws -> EnrollmentState
    /// Returns when the enrollment is on synced disk. A request that waits for its answer keeps its id.
    func save(_ enrollment: Enrollment) throws
    /// Completes the request whose answer was saved, so the next request gets a new id.
    func requestAnswered() throws
    /// The private key whose public one the last request carries, 32 bytes; `nil` for none. On synced disk as long as
    /// the request's id.
    func wipeKey() throws -> Data?
    /// Forgets the credential, its copies included, and keeps the device id. Returns when that is on synced disk. May
    /// be repeated.
    func unenroll() throws
    /// The token from flag, file or environment. `nil` if there is none, or only the one that the device had when it
    /// was unenrolled.
    func enrollmentToken() throws -> String?
    /// The request's id is on synced disk when this returns, and stays the same until `requestAnswered`. So repeating
    /// the request after a lost answer or a kill makes no second device.
    func enrollRequest(as role: EnrollmentRole) throws -> WireEnrollRequest
    /// The configured request for a client certificate, DER; `nil` if none is configured.
    func signingRequest() throws -> Data?
}

extension EnrollmentStore {
    /// The enrollment in force; `nil` if there is none.
    package func load() throws -> Enrollment? {
        if case .enrolled(let enrollment) = try state() { enrollment } else { nil }
    }
}
