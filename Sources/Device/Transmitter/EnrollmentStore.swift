import FoundationEssentials
import WireModel

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
    /// From flag, file or environment; `nil` where none may be used: none was given, or only the one that the device had when it unenrolled.
    func enrollmentToken() throws -> String?
    /// The request's id is on synced disk before this returns, and the same until `save`, so that asking again after a lost answer or a kill
    /// makes no second device.
    func enrollRequest(as role: EnrollmentRole) throws -> WireEnrollRequest
    /// The request for a client certificate that the device was configured with, DER; `nil` where it was configured with none.
    func signingRequest() throws -> Data?
}

extension EnrollmentStore {
    /// The enrollment in force; `nil` where there is none.
    package func load() throws -> Enrollment? {
        if case .enrolled(let enrollment) = try state() { enrollment } else { nil }
    }
}
