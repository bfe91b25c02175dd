import CollectorStore
import Foundation
import WireModel

/// Who may talk to this collector, and what is known of them: the port the routes use; the store's `CollectorRegistry`
/// is behind it.
///
/// Safe to call from any number of tasks. What changes something returns after it is on synced disk.
package protocol DeviceRegistry: Sendable {
    var collectorID: CollectorID { get }
    var incarnationID: IncarnationID { get }

    /// Whether an enrollment token may be used, looked at before a request's body is read. Nothing is used up.
    func checkEnrollmentToken(_ token: String) async throws(EnrollError)
    func enroll(token: String, request: WireEnrollRequest) async throws(EnrollError) -> EnrollResult
    /// Whose credential it is. - Parameter admits: whether the device is let in with what else it showed; where it is
    /// not, a new credential does not count as used.
    func authenticateDevice(
        credential: String, admits: @Sendable (DeviceRow) -> Bool
    ) async throws(StoreError) -> DeviceAuthentication
    func authenticatePerson(token: String) async throws(StoreError) -> Person?

    /// A new credential; the former one stays good until the new one is first used.
    func rotateCredential(device: DeviceID) async throws(StoreError) -> String
    /// A certificate that was issued to the device is its own from now on. - Parameter reason: for the audit trail.
    func keepCertificate(_ certificate: DeviceCertificate, device: DeviceID, reason: String) async throws(StoreError)
    /// The device has come with a certificate for the first time: those issued before it are refused from now on.
    func noteCertificateUse(_ fingerprint: Data, device: DeviceID) async throws(StoreError)
    func unenroll(device: DeviceID) async throws(StoreError)

    /// Notes what a device's newest records say of it. Derived data: losing it loses nothing.
    func seen(_ device: DeviceID, _ sight: DeviceObservation) async

    /// Devices in the order of their ids. - Parameter organization: `nil` for all.
    func devices(organization: String?, after cursor: String?, limit: Int) async throws(StoreError) -> DevicePage
    /// Devices that match, in the order asked for. - Parameter position: an earlier page's `next`.
    func devices(_ query: DeviceQuery, after position: DevicePosition?, limit: Int) async throws(StoreError)
        -> DeviceList
    func device(_ id: DeviceID, organization: String?) async throws(StoreError) -> DeviceRow?
    /// Which other devices are, or may be, the same machine.
    func lineage(of device: DeviceRow) async throws(StoreError) -> DeviceLineage

    /// Every device's id, ascending. - Parameter organization: `nil` for all.
    func deviceIDs(organization: String?, withTest: Bool) async throws(StoreError) -> [DeviceID]

    /// Whether what was opened is still there.
    func readiness() async -> StoreReadiness
}

extension CollectorRegistry: DeviceRegistry {}
