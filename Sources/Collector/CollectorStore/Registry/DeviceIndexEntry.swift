import FoundationEssentials
import WireModel

/// What the list of devices needs of one device, in memory: well under 1 KB.
struct DeviceIndexEntry {
    let organization: String
    let application: String
    let agentVersion: String
    /// Of each text of a beacon: a device may say more, and that must not be held for every one of them.
    private static let textBytes = WireEnrollRequest.textBytes

    /// In lower case, as it is sorted by.
    let sortName: String
    /// In lower case.
    private let system: (name: String, distribution: String, version: String)
    let compliance: WireCompliance
    let compromised: WireVerdict
    let isTest: Bool
    /// What of it can be searched, in lower case, a line each.
    let searched: [UInt8]
    let enrolled: Int64
    private let hasLeft: Bool
    private let isRevoked: Bool
    private let lastBeacon: Int64?
    private var expectedBeaconSeconds: UInt32?
    private(set) var lastSeen: Int64?
    private(set) var profileRevision: UInt64?
    /// What of its profile the device does not do, by name; of what devices invent only a little is held.
    let profileFindings: [String]
    private static let maximumFindings = 4
    private static let findingBytes = 64

    /// - Parameter shared: one and the same string for equal ones: a fleet has few applications and systems.
    init(_ row: DeviceRow, shared: (String) -> String) {
        organization = shared(row.organization)
        application = shared(row.application)
        agentVersion = shared(row.newestAgentVersion.cut(toBytes: Self.textBytes))
        sortName = row.name.lowercased()
        let newest = row.newestOperatingSystem
        func name(_ text: String) -> String { shared(text.cut(toBytes: Self.textBytes).lowercased()) }
        system = (name(newest.name), name(newest.distribution), name(newest.version))
        compliance = row.compliance
        compromised = row.beacon?.compromised ?? .unknown
        isTest = row.test
        searched = Self.searched(row)
        enrolled = row.enrolled
        hasLeft = row.left != nil
        isRevoked = row.revoked != nil
        lastBeacon = row.lastBeacon
        expectedBeaconSeconds = row.expectedBeaconSeconds
        lastSeen = row.lastSeen
        profileRevision = row.profileRevision
        let findings = (row.beacon?.profileFindings ?? []).prefix(Self.maximumFindings).map { $0.cut(toBytes: Self.findingBytes) }
        profileFindings = Set(findings).sorted().map(shared)
    }

    /// Takes over what newer records of the device say, but for a beacon or identity: with one of those it is made anew.
    mutating func note(_ sight: DeviceObservation) {
        lastSeen = max(lastSeen ?? .min, sight.at)
        expectedBeaconSeconds = sight.expectedBeaconSeconds ?? expectedBeaconSeconds
        profileRevision = sight.profileRevision ?? profileRevision
    }

    /// Neither left nor revoked.
    var isWelcome: Bool { !hasLeft && !isRevoked }

    func state(at now: Int64) -> ReportingState {
        ReportingState(
            hasLeft: hasLeft, isRevoked: isRevoked, expectedBeaconSeconds: expectedBeaconSeconds, lastBeacon: lastBeacon,
            enrolled: enrolled, at: now)
    }

    /// - Parameter name: of a system or distribution, also with its version; in lower case.
    func runs(_ name: String) -> Bool {
        [system.name, system.distribution].contains { $0 == name || (name.hasPrefix($0) && name == "\($0) \(system.version)") }
    }

    private static func searched(_ row: DeviceRow) -> [UInt8] {
        var lines = [row.name, row.id.description, row.application, line(of: row.operatingSystem), row.newestAgentVersion]
        func add(_ others: [String]) { for line in others where !line.isEmpty && !lines.contains(line) { lines.append(line) } }
        if let beacon = row.beacon {
            add([
                beacon.deviceName, beacon.userEmail, beacon.userFullName, beacon.userDisplayName, beacon.application,
                beacon.applicationVersion, beacon.organizationGroup, beacon.model, line(of: beacon.operatingSystem),
            ])
        }
        if let identity = row.identity { add([identity.hostName, identity.model, identity.vendor, line(of: identity.operatingSystem)]) }
        return Array(lines.map { $0.cut(toBytes: textBytes) }.joined(separator: "\n").lowercased().utf8)
    }

    private static func line(of system: WireOperatingSystem) -> String {
        [system.name, system.distribution, system.version, system.kernel, system.architecture].filter { !$0.isEmpty }
            .joined(separator: " ")
    }
}
