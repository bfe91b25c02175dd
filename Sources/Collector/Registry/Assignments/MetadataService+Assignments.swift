import FoundationEssentials
import RecordStore
import WireModel

/// The applications that an organization has assigned: each to all of its devices, or to a group of them.
///
/// It is one document, which is always changed as a whole. So a group and what is assigned to it never contradict each
/// other. A device id that the organization does not have has no effect.
package struct AssignmentList: Codable, Equatable, Sendable {
    package struct Group: Codable, Equatable, Sendable {
        package var name: String
        /// Their ids as text.
        package var devices: [String]

        package init(name: String, devices: [DeviceID]) {
            self.name = name
            self.devices = devices.map(\.description)
        }
    }

    package struct Application: Codable, Equatable, Sendable {
        /// Bundle id.
        package var application: String
        /// The name of a group; `nil` for all devices.
        package var group: String?

        package init(application: String, group: String? = nil) {
            self.application = application
            self.group = group
        }
    }

    package var groups: [Group]
    package var applications: [Application]

    package init(groups: [Group] = [], applications: [Application] = []) {
        self.groups = groups
        self.applications = applications
    }

    /// Returns what is assigned to a device, in order and each once.
    package func applications(of device: DeviceID) -> [String] {
        let own = Set(groups.filter { $0.devices.contains(device.description) }.map(\.name))
        return Set(applications.filter { $0.group.map(own.contains) ?? true }.map(\.application)).sorted()
    }
}

/// One revision of an organization's list.
package struct AssignmentRow: Equatable, Sendable {
    package var organization: String
    /// Counts the changes, from 1.
    package var revision: UInt64
    /// Microseconds since 1970 by the collector's clock.
    package var changed: Int64
    package var list: AssignmentList
}

package enum AssignmentError: StoreRefusal, Equatable, Sendable {
    case unknownOrganization
    /// The newest revision is not the one that the change was made from.
    case notNewest(UInt64)
    case store(StoreError)
}

extension MetadataService {
    /// `nil` if the organization keeps no list, or there is no such organization.
    package nonisolated func assignments(organization: String) async throws(StoreError) -> AssignmentRow? {
        try await readers.read { connection throws(StoreError) in
            try AssignmentRow.one(organization, in: connection)
        }
    }

    /// Replaces the organization's list. The audit entry is written with it.
    /// - Parameter expected: the newest revision as the caller knows it, 0 for none; `nil` for any.
    package func putAssignments(
        _ list: AssignmentList, organization: String, expected: UInt64?, by actor: AuditActor
    ) throws(AssignmentError) -> AssignmentRow {
        let now = clock.now()
        let bytes: Data
        do { bytes = try JSONEncoder.stable().encode(list) } catch {
            throw .store(StoreError(.invalid, "the list cannot be encoded: \(error)"))
        }
        return try change { () throws(StoreError) -> Result<AssignmentRow, AssignmentError> in
            guard try connection.hasRow("SELECT 1 FROM organization WHERE name = ?", organization) else {
                return .failure(.unknownOrganization)
            }
            let newest = try AssignmentRow.one(organization, in: connection)?.revision ?? 0
            if let expected, expected != newest { return .failure(.notNewest(newest)) }
            let row = AssignmentRow(organization: organization, revision: newest + 1, changed: now, list: list)
            try connection.run(
                """
                INSERT INTO assignment (organization, revision, changed, list) VALUES (?, ?, ?, ?) \
                ON CONFLICT (organization)
                DO UPDATE SET revision = excluded.revision, changed = excluded.changed, list = excluded.list
                """, organization, Int64(clamping: row.revision), now, bytes)
            try audit.append(
                AuditEntry(
                    .assignmentsPut, by: actor, organization: organization, subject: organization,
                    detail: ["revision": "\(row.revision)", "applications": "\(list.applications.count)"]), at: now)
            return .success(row)
        }
    }
}

extension AssignmentRow {
    package static func one(_ organization: String, in connection: any RegistrySession) throws(StoreError)
        -> AssignmentRow?
    {
        try connection.first(
            "SELECT revision, changed, list FROM assignment WHERE organization = ?", organization
        ) { statement throws(StoreError) in
            guard let list = try? JSONDecoder().decode(AssignmentList.self, from: statement.data(2)) else {
                throw StoreError(.corrupt, "\(connection.name): the assignments of \"\(organization)\" cannot be read.")
            }
            return AssignmentRow(
                organization: organization, revision: UInt64(clamping: statement.int64(0)),
                changed: statement.int64(1), list: list)
        }
    }
}
