import WireModel

/// What a device got when it enrolled: who it is, and whom it speaks to.
package struct Enrollment: Equatable, Sendable {
    package var deviceID: DeviceID
    /// The device's secret. Never logged.
    package var credential: String
    package var organization: String
    package var collectorID: CollectorID
    package var incarnationID: IncarnationID

    package init(
        deviceID: DeviceID, credential: String, organization: String, collectorID: CollectorID, incarnationID: IncarnationID
    ) {
        self.deviceID = deviceID
        self.credential = credential
        self.organization = organization
        self.collectorID = collectorID
        self.incarnationID = incarnationID
    }
}

/// Keeps the enrollment on disk and knows what an enrollment request says of this device.
package protocol EnrollmentStore: Sendable {
    /// `nil` before the first enrollment.
    func load() throws -> Enrollment?
    /// Returns once it is on synced disk.
    func save(_ enrollment: Enrollment) throws
    /// From flag, file or environment; `nil` where none was given.
    var enrollmentToken: String? { get }
    /// - Parameter previous: proves the device id to keep on re-enrollment.
    func enrollRequest(previous: Enrollment?) -> WireEnrollRequest
}
