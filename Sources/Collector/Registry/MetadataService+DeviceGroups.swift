import FoundationEssentials
import RecordStore
import WireModel

/// A property by which the devices of a fleet are compared.
package enum DeviceGrouping: String, CaseIterable, Sendable {
    /// Distribution and version, such as `debian 12`.
    case os
    case agentVersion
    /// The bundle id that a device enrolled with.
    case application
    /// The bundle id with the version of the program.
    case applicationVersion
}

/// A device and the group that it is in.
package struct GroupedDevice: Equatable, Sendable {
    package var id: DeviceID
    /// Empty if the device has reported none.
    package var group: String
}

extension MetadataService {
    /// The devices that may send, sorted by id, each with its group by what it reported last.
    /// - Parameters:
    ///   - organization: `nil` for all.
    ///   - grouping: `nil` puts all into one group without a name.
    package nonisolated func groupedDevices(
        organization: String?, withTest: Bool, by grouping: DeviceGrouping?
    ) async throws(StoreError) -> [GroupedDevice] {
        guard let grouping else {
            return try await deviceIDs(organization: organization, withTest: withTest).map {
                GroupedDevice(id: $0, group: "")
            }
        }
        // What came a moment ago counts.
        await writeSeen()
        return try await readers.read { connection throws(StoreError) in
            try connection.rows(
                """
                SELECT id, os_name, os_distribution, os_version, agent_version, application, beacon FROM device
                LEFT JOIN device_state ON device_state.device = device.id
                WHERE (?1 IS NULL OR organization = ?1) AND (?2 <> 0 OR test = 0) ORDER BY id
                """, organization, withTest
            ) { row throws(StoreError) in
                guard let id = try DeviceID(row.data("id")) else { return nil }
                return GroupedDevice(id: id, group: try Self.group(row, by: grouping))
            }
        }
    }

    /// - Parameter row: as `groupedDevices` selects it.
    private static func group(_ row: RegistryRow, by grouping: DeviceGrouping) throws(StoreError) -> String {
        let beacon = try row.optionalData("beacon").flatMap { try? WireBeacon.decode($0) }
        switch grouping {
        case .os:
            var system = WireOperatingSystem()
            system.name = try row.string("os_name")
            system.distribution = try row.string("os_distribution")
            system.version = try row.string("os_version")
            if let beacon, beacon.hasOperatingSystem { system = beacon.operatingSystem }
            return [system.distribution.isEmpty ? system.name : system.distribution, system.version].filter {
                !$0.isEmpty
            }.joined(separator: " ")
        case .agentVersion:
            guard let version = beacon?.libraryVersion, !version.isEmpty else { return try row.string("agent_version") }
            return version
        case .application: return try row.string("application")
        case .applicationVersion:
            guard let version = beacon?.applicationVersion, !version.isEmpty else { return "" }
            return try [row.string("application"), version].filter { !$0.isEmpty }.joined(separator: " ")
        }
    }
}
