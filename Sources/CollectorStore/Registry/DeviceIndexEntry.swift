import FoundationEssentials
import WireModel

/// What the list of devices needs of one device, in memory: about 1 KB.
struct DeviceIndexEntry {
    /// Without beacon and identity.
    private(set) var device: DeviceRow
    /// The name as it is sorted by.
    let sortName: String
    private(set) var agentVersion: String
    private(set) var operatingSystems: Set<String>
    private(set) var compliance: WireCompliance
    private(set) var compromised: WireVerdict
    /// What of it can be searched, in lower case, a line each.
    private(set) var searched: [UInt8]
    private var beaconLines: [String]
    private var identityLines: [String]

    init(_ row: DeviceRow) {
        device = row
        sortName = row.name.lowercased()
        agentVersion = row.newestAgentVersion
        operatingSystems = Self.names(of: row.newestOperatingSystem)
        compliance = row.compliance
        compromised = row.beacon?.compromised ?? .unknown
        beaconLines = Self.lines(of: row.beacon)
        identityLines = Self.lines(of: row.identity)
        searched = []
        device.beacon = nil
        device.identity = nil
        gatherSearched()
    }

    /// Takes over what newer records of the device say.
    mutating func note(_ sight: DeviceSight) {
        device.lastSeen = max(device.lastSeen ?? .min, sight.at)
        device.expectedBeaconSeconds = sight.expectedBeaconSeconds ?? device.expectedBeaconSeconds
        device.profileRevision = sight.profileRevision ?? device.profileRevision
        if let beacon = sight.beacon {
            var row = device
            row.beacon = beacon
            device.lastBeacon = sight.beaconAt
            agentVersion = row.newestAgentVersion
            operatingSystems = Self.names(of: row.newestOperatingSystem)
            compliance = row.compliance
            compromised = beacon.compromised
            beaconLines = Self.lines(of: beacon)
        }
        if let identity = sight.identity { identityLines = Self.lines(of: identity) }
        if sight.beacon != nil || sight.identity != nil { gatherSearched() }
    }

    private static func names(of system: WireOperatingSystem) -> Set<String> {
        let names = [
            system.name, system.distribution, "\(system.name) \(system.version)", "\(system.distribution) \(system.version)",
        ]
        return Set(names.map { $0.lowercased() })
    }

    private static func lines(of beacon: WireBeacon?) -> [String] {
        guard let beacon else { return [] }
        return [
            beacon.deviceName, beacon.userEmail, beacon.userFullName, beacon.userDisplayName, beacon.application,
            beacon.applicationVersion, beacon.organizationGroup, beacon.model, line(of: beacon.operatingSystem),
        ]
    }

    private static func lines(of identity: WireSystemIdentity?) -> [String] {
        identity.map { [$0.hostName, $0.model, $0.vendor, line(of: $0.operatingSystem)] } ?? []
    }

    private static func line(of system: WireOperatingSystem) -> String {
        "\(system.name) \(system.distribution) \(system.version) \(system.kernel) \(system.architecture)"
    }

    private mutating func gatherSearched() {
        var lines = [device.name, device.id.description, device.application, Self.line(of: device.operatingSystem), agentVersion]
        for line in beaconLines + identityLines where !line.isEmpty && !lines.contains(line) { lines.append(line) }
        searched = Array(lines.joined(separator: "\n").lowercased().utf8)
    }
}
