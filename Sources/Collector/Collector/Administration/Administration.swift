import CollectorStore
import Foundation
import WireModel

/// What administrators do with organizations, tokens, devices and what is kept: the port the routes use; the store's
/// `CollectorRegistry` is behind it.
///
/// What changes something returns after it is on synced disk, with its entry in the audit trail. An `organization` that
/// is `nil` means all; what is another one's is not there.
package protocol Administration: Sendable {
    func organizations() async throws(StoreError) -> [OrganizationRow]
    func createOrganization(_ name: String, by actor: AuditActor) async throws(StoreError)

    func tokens(organization: String?, kind: TokenRow.Kind?, after position: TokenPosition?, limit: Int)
        async throws(StoreError)
        -> TokenPage
    /// - Returns: with the token its secret, said only here.
    func createToken(_ new: NewToken, by actor: AuditActor) async throws(AdministrationError) -> (
        row: TokenRow, secret: String
    )
    func revokeToken(_ id: String, organization: String?, by actor: AuditActor) async throws(AdministrationError)

    /// - Parameter closingToken: whether the token that the device enrolled with is revoked, too.
    func revokeDevice(_ id: DeviceID, organization: String?, closingToken: Bool, by actor: AuditActor)
        async throws(AdministrationError) -> DeviceRevocation
    func reinstateDevice(_ id: DeviceID, organization: String?, by actor: AuditActor) async throws(AdministrationError)
        -> DeviceRow
    func deleteDevice(_ id: DeviceID, enrollment: Data, organization: String?, by actor: AuditActor)
        async throws(AdministrationError)
    func setPredecessor(_ predecessor: DeviceID?, of id: DeviceID, organization: String?, by actor: AuditActor)
        async throws(AdministrationError) -> DeviceRow

    func retention() async throws(StoreError) -> RetentionService.Status
    /// - Returns: what retention waited for; `nil` where it did not.
    func releaseRetention(by actor: AuditActor) async throws(StoreError) -> String?
    /// Whole days of records that came so many days ago or before.
    func purgePlan(olderThanDays days: Int, streams: Set<StreamName>) async throws(StoreError) -> PurgePlan
    /// - Returns: the purge's id; `nil`, with nothing asked, where an earlier one has not been done yet.
    func purge(_ plan: PurgePlan, by actor: AuditActor) async throws(StoreError) -> String?

    /// Newest first.
    func audit(_ query: AuditQuery, below id: Int64?, limit: Int) async throws(StoreError) -> AuditPage
}

extension CollectorRegistry: Administration {}

extension Problem {
    static func ofAdministration(_ error: AdministrationError) -> Problem {
        switch error {
        case .notFound(let detail): notFound(detail)
        case .forbidden(let detail): forbidden(detail)
        case .lastAdministrator:
            Problem(
                status: 409, code: "last-administrator", title: "Last administrator",
                detail:
                    "Nobody else could take this token's place: it is the last good administrator's. Make another one first."
            )
        case .store(let error): ofStore(error)
        }
    }

    static let confirmationOutdated = Problem(
        status: 409, code: "confirmation-outdated", title: "Confirmation outdated",
        detail: "This is not what would be deleted now. Ask again without `confirm`, and confirm what that tells.")
}
