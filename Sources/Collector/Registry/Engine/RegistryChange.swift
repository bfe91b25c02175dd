import FoundationEssentials
import WireModel

/// Something that a transaction has changed and that collectors keep in memory.
///
/// A name says what to read again, never the new value. So it may be applied late, twice or without need.
package enum RegistryChange: Hashable, Sendable {
    /// The device's row, certificates or enrollment, and its commands with them.
    case device(DeviceID)
    /// Its commands alone: there is a new one, or one has ended.
    case commands(DeviceID)
    /// The report of its newest records, in `device_state`.
    case observation(DeviceID)
    /// The profile of an organization or of one of its applications.
    case profile(organization: String)
    /// A job over devices has begun.
    case deviceJobs
}

/// The changes that a collector has to read again.
package enum RegistryNews: Equatable, Sendable {
    case changes(Set<RegistryChange>)
    /// Unknown changes: nothing that is in memory counts any more.
    case everything
}

extension RegistryChange {
    /// How changes are written down: a kind, and what it is about. Devices of one kind share a row.
    package struct Row: Equatable, Sendable {
        package var kind: String
        /// The ids of devices, 16 bytes each; or the organization's name in UTF-8.
        package var key: Data

        package init(kind: String, key: Data) {
            self.kind = kind
            self.key = key
        }
    }

    private enum Kind: String, CaseIterable {
        case device, commands, observation, profile, deviceJobs
    }

    private static let devicesPerRow = 1024
    private static let deviceBytes = 16

    package static func rows(of changes: Set<RegistryChange>) -> [Row] {
        var devices: [Kind: [DeviceID]] = [:]
        var rows: [Row] = []
        for change in changes {
            switch change {
            case .device(let id): devices[.device, default: []].append(id)
            case .commands(let id): devices[.commands, default: []].append(id)
            case .observation(let id): devices[.observation, default: []].append(id)
            case .profile(let organization):
                rows.append(Row(kind: Kind.profile.rawValue, key: Data(organization.utf8)))
            case .deviceJobs: rows.append(Row(kind: Kind.deviceJobs.rawValue, key: Data()))
            }
        }
        for kind in Kind.allCases {
            let ids = devices[kind] ?? []
            for start in stride(from: 0, to: ids.count, by: devicesPerRow) {
                let key = ids[start..<min(start + devicesPerRow, ids.count)].reduce(into: Data()) { $0 += $1.data }
                rows.append(Row(kind: kind.rawValue, key: key))
            }
        }
        return rows
    }

    /// - Returns: `.everything` if a row cannot be read. A later program may have written it.
    package static func news(of rows: [Row]) -> RegistryNews {
        var changes: Set<RegistryChange> = []
        for row in rows {
            switch Kind(rawValue: row.kind) {
            case .profile: changes.insert(.profile(organization: String(decoding: row.key, as: UTF8.self)))
            case .deviceJobs: changes.insert(.deviceJobs)
            case .device, .commands, .observation:
                guard row.key.count % deviceBytes == 0 else { return .everything }
                for start in stride(from: 0, to: row.key.count, by: deviceBytes) {
                    guard let id = DeviceID(Data(row.key.dropFirst(start).prefix(deviceBytes))) else {
                        return .everything
                    }
                    switch Kind(rawValue: row.kind) {
                    case .device: changes.insert(.device(id))
                    case .commands: changes.insert(.commands(id))
                    default: changes.insert(.observation(id))
                    }
                }
            case nil: return .everything
            }
        }
        return .changes(changes)
    }
}
