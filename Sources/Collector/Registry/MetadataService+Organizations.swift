import FoundationEssentials
import RecordStore
import WireModel

extension MetadataService {
    /// Sorted by name.
    package nonisolated func organizations() async throws(StoreError) -> [OrganizationRow] {
        try await readers.read { connection throws(StoreError) in try OrganizationRow.all(in: connection) }
    }

    /// Makes an organization with its own privacy key and the default profile.
    /// - Parameters:
    ///   - name: 1 to 63 letters, digits, `.`, `_` and `-`, beginning with a letter or digit. It is used in paths and
    ///     file names.
    ///   - actor: for the audit trail.
    /// - Throws: `.invalid` for another name, `.conflict` if it exists.
    package func createOrganization(_ name: String, by actor: AuditActor = .commandLine) throws(StoreError) {
        let marks: [UInt8] = [UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-")]
        let isPlain = name.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
            default: marks.contains(byte)
            }
        }
        guard isPlain, (1...63).contains(name.utf8.count), let first = name.utf8.first, !marks.contains(first) else {
            throw StoreError(
                .invalid,
                """
                an organization's name must have 1 to 63 letters, digits, ".", "_" and "-", and begin with a \
                letter or digit.
                """
            )
        }
        let now = clock.now()
        let isNew = try transaction { () throws(StoreError) in
            guard try Self.insertOrganization(name, at: now, into: connection) else { return false }
            try audit.append(AuditEntry(.organizationCreate, by: actor, organization: name, subject: name), at: now)
            return true
        }
        guard isNew else { throw StoreError(.conflict, "the organization \"\(name)\" already exists.") }
    }

    /// Inserts it with its own privacy key and the profile of a new organization.
    /// - Returns: whether it is new.
    static func insertOrganization(
        _ name: String, at now: Int64, into connection: any RegistrySession
    ) throws(StoreError) -> Bool {
        let inserted = try connection.run(
            "INSERT INTO organization (name, created, privacy_key) VALUES (?, ?, ?) ON CONFLICT (name) DO NOTHING",
            name, now, Secret.randomBytes())
        guard inserted == 1 else { return false }
        var profile = WireProfile.ofNewOrganization
        profile.revision = 1
        profile.organization = name
        try ProfileRow(
            scope: ProfileScope(organization: name), revision: 1, profile: profile, created: now, author: ""
        ).insert(into: connection)
        return true
    }
}

package struct OrganizationRow: Equatable, Sendable {
    package var name: String
    package var created: Int64
    /// The number of devices, without test devices.
    package var devices: Int
    package var testDevices: Int
    /// The newest revision of its own and its applications' profiles.
    package var profileRevision: UInt64
}

extension OrganizationRow {
    /// Sorted by name.
    package static func all(in connection: any RegistrySession) throws(StoreError) -> [OrganizationRow] {
        try connection.rows(
            """
            SELECT name, created,
            (SELECT count(*) FROM device WHERE device.organization = organization.name AND device.test = 0) AS devices,
            (SELECT count(*) FROM device WHERE device.organization = organization.name AND device.test <> 0)
                AS test_devices,
            (SELECT coalesce(max(revision), 0) FROM profile WHERE profile.organization = organization.name)
                AS profile_revision
            FROM organization ORDER BY name
            """
        ) { row throws(StoreError) in
            OrganizationRow(
                name: try row.string("name"), created: try row.int64("created"), devices: try row.int("devices"),
                testDevices: try row.int("test_devices"), profileRevision: try row.uint64("profile_revision"))
        }
    }
}
