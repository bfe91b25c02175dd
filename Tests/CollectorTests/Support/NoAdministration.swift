import Collector
import CollectorStore
import Foundation
import WireModel

/// Nothing to administer, for tests of everything else. What administrators do is tested over the registry on disk.
struct NoAdministration: Administration {
    func organizations() async throws(StoreError) -> [OrganizationRow] { [] }
    func createOrganization(_ name: String, by actor: AuditActor) async throws(StoreError) { throw Self.none }

    func tokens(
        organization: String?, kind: TokenRow.Kind?, after position: TokenPosition?, limit: Int
    ) async throws(StoreError) -> TokenPage { throw Self.none }

    func createToken(_ new: NewToken, by actor: AuditActor) async throws(AdministrationError) -> (
        row: TokenRow, secret: String
    ) {
        throw .store(Self.none)
    }

    func revokeToken(_ id: String, organization: String?, by actor: AuditActor) async throws(AdministrationError) {
        throw .store(Self.none)
    }

    func revokeDevice(
        _ id: DeviceID, organization: String?, closingToken: Bool, by actor: AuditActor
    ) async throws(AdministrationError) -> DeviceRevocation { throw .store(Self.none) }

    func reinstateDevice(_ id: DeviceID, organization: String?, by actor: AuditActor) async throws(AdministrationError)
        -> DeviceRow
    {
        throw .store(Self.none)
    }

    func deleteDevice(
        _ id: DeviceID, enrollment: Data, organization: String?, by actor: AuditActor
    ) async throws(AdministrationError) { throw .store(Self.none) }

    func setPredecessor(
        _ predecessor: DeviceID?, of id: DeviceID, organization: String?, by actor: AuditActor
    ) async throws(AdministrationError) -> DeviceRow { throw .store(Self.none) }

    func retention() async throws(StoreError) -> RetentionService.Status { throw Self.none }
    func releaseRetention(by actor: AuditActor) async throws(StoreError) -> String? { throw Self.none }
    func purgePlan(olderThanDays days: Int, streams: Set<StreamName>) async throws(StoreError) -> PurgePlan {
        throw Self.none
    }
    func purge(_ plan: PurgePlan, by actor: AuditActor) async throws(StoreError) -> String? { throw Self.none }

    func audit(_ query: AuditQuery, below id: Int64?, limit: Int) async throws(StoreError) -> AuditPage {
        throw Self.none
    }

    private static let none = StoreError(.notFound, "nothing to administer")
}
