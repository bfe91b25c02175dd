import Glibc
import WireModel

/// The entry of one device with what lists need, in memory; well under 1 KB.
struct DeviceIndexEntry {
    /// The values that many entries share.
    struct Values {
        var texts = SharedValues<String>()
        var systems = SharedValues<System>()
    }

    /// An operating system, in lower case.
    struct System: Hashable {
        var name: String
        var distribution: String
        var version: String

        /// The distribution, or else the name, with its version if it has one: `debian 12`. Empty if nothing was
        /// reported.
        var label: String {
            [distribution.isEmpty ? name : distribution, version].filter { !$0.isEmpty }.joined(separator: " ")
        }

        /// - Parameter text: the name of a system or distribution, optionally with its version, in lower case; empty
        ///   for a system of which nothing was reported.
        func isMeant(by text: String) -> Bool {
            guard !text.isEmpty else { return label.isEmpty }
            return [name, distribution].contains {
                $0 == text || (text.hasPrefix($0) && text == "\($0) \(version)")
            } || text == label
        }
    }

    typealias Text = SharedValues<String>.Number

    let organization: Text
    let application: Text
    let agentVersion: Text
    /// The application's version from its newest beacon.
    let applicationVersion: Text
    /// Empty if it is not known.
    let enrollmentToken: Text
    let system: SharedValues<System>.Number
    /// Names of profile settings that the device cannot apply. Limited, because devices choose them.
    let profileFindings: [Text]
    /// The most bytes of each text in a beacon. A device may send more, which must not be kept for all of them.
    private static let textBytes = WireEnrollRequest.textBytes
    private static let maximumFindings = 16
    private static let findingBytes = 64

    /// The name in lower case, for sorting.
    let sortName: String
    let compliance: WireCompliance
    let compromised: WireVerdict
    let isTest: Bool
    /// The searchable texts in lower case, one per line.
    private let searched: [UInt8]
    let enrolled: Int64
    private let kind: DeviceRow.Kind
    private let hasLeft: Bool
    private let isRevoked: Bool
    private let isOff: Bool
    private let lastBeacon: Int64?
    private var expectedBeaconSeconds: UInt32?
    private(set) var lastSeen: Int64?
    private(set) var profileRevision: UInt64?

    init(_ row: DeviceRow, sharing values: inout Values) {
        organization = values.texts.intern(row.organization)
        application = values.texts.intern(row.application)
        agentVersion = values.texts.intern(row.newestAgentVersion.cut(toBytes: Self.textBytes))
        applicationVersion = values.texts.intern((row.beacon?.applicationVersion ?? "").cut(toBytes: Self.textBytes))
        enrollmentToken = values.texts.intern(row.enrollmentToken ?? "")
        let newest = row.newestOperatingSystem
        func name(_ text: String) -> String { text.cut(toBytes: Self.textBytes).lowercased() }
        system = values.systems.intern(
            System(name: name(newest.name), distribution: name(newest.distribution), version: name(newest.version)))
        let findings = (row.beacon?.profileFindings ?? []).prefix(Self.maximumFindings).map {
            $0.cut(toBytes: Self.findingBytes)
        }
        profileFindings = Set(findings).map { values.texts.intern($0) }
        sortName = row.newestName.lowercased()
        compliance = row.compliance
        let verdict = row.verdicts?.beacon.compromised ?? .unknown
        // A word of a later version of the wire is not known here.
        compromised = [.no, .yes].contains(verdict) ? verdict : .unknown
        isTest = row.test
        searched = Self.searched(row)
        enrolled = row.enrolled
        kind = row.kind
        hasLeft = row.left != nil
        isRevoked = row.revoked != nil
        isOff = row.beacon?.telemetryDisabled ?? false
        lastBeacon = row.lastBeacon
        expectedBeaconSeconds = row.expectedBeaconSeconds
        lastSeen = row.lastSeen
        profileRevision = row.profileRevision
    }

    /// Gives the shared values back; to be called once, when the entry is replaced or removed.
    func giveBack(to values: inout Values) {
        let own = [organization, application, agentVersion, applicationVersion, enrollmentToken]
        for text in own + profileFindings {
            values.texts.giveBack(text)
        }
        values.systems.giveBack(system)
    }

    /// Applies what newer records of the device report, except a beacon or identity. With one of those the entry is
    /// made again.
    mutating func record(_ sight: DeviceObservation) {
        lastSeen = max(lastSeen ?? .min, sight.at)
        expectedBeaconSeconds = sight.expectedBeaconSeconds ?? expectedBeaconSeconds
        profileRevision = sight.profileRevision ?? profileRevision
    }

    /// It applies a profile: it enrolled, and was neither unenrolled nor revoked.
    var appliesProfile: Bool { kind == .enrolled && !hasLeft && !isRevoked }

    func state(at now: Int64) -> ReportingState {
        ReportingState(
            kind: kind, hasLeft: hasLeft, isRevoked: isRevoked, isOff: isOff,
            expectedBeaconSeconds: expectedBeaconSeconds,
            lastBeacon: lastBeacon, enrolled: enrolled, at: now)
    }

    // MARK: Search

    /// - Parameter words: in lower case.
    func has(_ words: [[UInt8]]) -> Bool {
        words.allSatisfy { word in
            searched.withUnsafeBytes { text in word.withUnsafeBytes { Self.find($0, in: text) } }
        }
    }

    /// Swift cannot call glibc's `memmem`.
    private static func find(_ word: UnsafeRawBufferPointer, in text: UnsafeRawBufferPointer) -> Bool {
        guard let first = word.first, let wordStart = word.baseAddress else { return true }
        guard var place = text.baseAddress, word.count <= text.count else { return false }
        let end = place + (text.count - word.count + 1)
        while place < end, let found = memchr(place, Int32(first), end - place) {
            if memcmp(found, wordStart, word.count) == 0 { return true }
            place = UnsafeRawPointer(found) + 1
        }
        return false
    }

    private static func searched(_ row: DeviceRow) -> [UInt8] {
        var lines = [
            row.name, row.id.description, row.application, line(of: row.operatingSystem), row.newestAgentVersion,
        ]
        func add(_ others: [String]) {
            for line in others where !line.isEmpty && !lines.contains(line) { lines.append(line) }
        }
        if let beacon = row.beacon {
            add([
                beacon.deviceName, beacon.userEmail, beacon.userFullName, beacon.userDisplayName, beacon.application,
                beacon.applicationVersion, beacon.organizationGroup, beacon.model, line(of: beacon.operatingSystem),
            ])
        }
        if let identity = row.identity {
            add([identity.hostName, identity.model, identity.vendor, line(of: identity.operatingSystem)])
        }
        return Array(lines.map { $0.cut(toBytes: textBytes) }.joined(separator: "\n").lowercased().utf8)
    }

    private static func line(of system: WireOperatingSystem) -> String {
        [system.name, system.distribution, system.version, system.kernel, system.architecture].filter { !$0.isEmpty }
            .joined(separator: " ")
    }
}
