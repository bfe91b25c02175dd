import FoundationEssentials
import Glibc
import WireModel

/// All devices in memory, so lists are filtered, searched and sorted without reading from disk.
///
/// Not `Sendable`: its owner keeps it equal to the rows on disk.
final class DeviceIndex {
    private var entries: [DeviceID: DeviceIndexEntry] = [:]
    /// Strings shared by many entries. When it is full it starts again; then equal strings exist twice, which only
    /// costs memory.
    private var strings: Set<String> = []
    private static let maximumStrings = 4096

    struct Found {
        var ids: [DeviceID]
        var total: Int
        var next: DevicePosition?
    }

    func insert(_ device: DeviceRow) {
        if strings.count >= Self.maximumStrings { strings = [] }
        entries[device.id] = DeviceIndexEntry(device) { strings.insert($0).memberAfterInsert }
    }

    func remove(_ id: DeviceID) { entries[id] = nil }

    /// - Returns: `false` for a beacon or identity. The caller then inserts the whole row again.
    func note(_ sight: DeviceObservation, of id: DeviceID) -> Bool {
        guard sight.beacon == nil, sight.identity == nil else { return false }
        entries[id]?.note(sight)
        return true
    }

    /// The number of an organization's devices that apply each revision of their profile, by application.
    func adoption(organization: String) -> [ProfileAdoption] {
        var found: [ProfileAdoption.Key: ProfileAdoption] = [:]
        for entry in entries.values where entry.organization == organization && entry.isWelcome {
            let key = ProfileAdoption.Key(application: entry.application, revision: entry.profileRevision)
            found[key, default: ProfileAdoption(key: key, devices: 0)].devices += 1
            for name in entry.profileFindings { found[key]?.findings[name, default: 0] += 1 }
        }
        return found.values.sorted {
            ($0.key.application, $0.key.revision ?? 0) < ($1.key.application, $1.key.revision ?? 0)
        }
    }

    /// - Parameter position: the position after which the page begins. Its key belongs to the query's order.
    func page(_ query: DeviceQuery, after position: DevicePosition?, limit: Int, at now: Int64) -> Found {
        let words = query.text.lowercased().split(whereSeparator: \.isWhitespace).map { Array($0.utf8) }
        let system = query.operatingSystem?.lowercased()
        func first<Key: Comparable>(
            after key: Key?, by keyOf: (DeviceIndexEntry) -> Key, _ positionKey: (Key) -> DevicePosition.Key
        ) -> Found {
            let place = position.flatMap { position in key.map { ($0, position.id) } }
            var first = FirstOf<Key>(limit: limit, isDescending: query.isDescending, after: place)
            var total = 0
            for (id, entry) in entries where entry.matches(query, words: words, system: system, at: now) {
                total += 1
                first.offer(keyOf(entry), id)
            }
            return first.found(total: total, positionKey)
        }
        switch (query.sort, position?.key) {
        case (.id, _): return first(after: 0, by: { _ in 0 }, { _ in .none })
        case (.name, .text(let name)?): return first(after: name, by: \.sortName) { .text($0) }
        case (.name, _): return first(after: nil, by: \.sortName) { .text($0) }
        case (.lastSeen, _), (.enrolled, _), (.state, _):
            var after: Int64?
            if case .number(let number)? = position?.key { after = number }
            return first(after: after, by: { $0.number(of: query.sort, at: now) }) { .number($0) }
        }
    }
}

extension DeviceIndexEntry {
    fileprivate func number(of sort: DeviceQuery.Sort, at now: Int64) -> Int64 {
        switch sort {
        case .lastSeen: lastSeen ?? .min
        case .enrolled: enrolled
        case .state: Int64(ReportingState.allCases.firstIndex(of: state(at: now)) ?? 0)
        case .id, .name: 0
        }
    }

    fileprivate func matches(_ query: DeviceQuery, words: [[UInt8]], system: String?, at now: Int64) -> Bool {
        if let organization = query.organization, self.organization != organization { return false }
        if isTest, !query.withTest { return false }
        if let application = query.application, self.application != application { return false }
        if let version = query.agentVersion, agentVersion != version { return false }
        if let compliance = query.compliance, self.compliance != compliance { return false }
        if let compromised = query.compromised, self.compromised != compromised { return false }
        if let system, !runs(system) { return false }
        if !query.states.isEmpty, !query.states.contains(state(at: now)) { return false }
        return words.allSatisfy { word in
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
}

/// Collects the first devices after a position in an order, without sorting all of them.
private struct FirstOf<Key: Comparable> {
    typealias Place = (key: Key, id: DeviceID)

    private let limit: Int
    private let isDescending: Bool
    private let after: Place?
    /// In order; one more than the page if there is one.
    private var kept: [Place] = []

    init(limit: Int, isDescending: Bool, after: (Key, DeviceID)?) {
        self.limit = limit
        self.isDescending = isDescending
        self.after = after.map { ($0.0, $0.1) }
    }

    mutating func offer(_ key: Key, _ id: DeviceID) {
        let place = (key, id)
        if let after, !precedes(after, place) { return }
        if kept.count > limit {
            guard let last = kept.last, precedes(place, last) else { return }
            kept.removeLast()
        }
        var (low, high) = (0, kept.count)
        while low < high {
            let middle = (low + high) / 2
            if precedes(kept[middle], place) { low = middle + 1 } else { high = middle }
        }
        kept.insert(place, at: low)
    }

    func found(total: Int, _ position: (Key) -> DevicePosition.Key) -> DeviceIndex.Found {
        let page = kept.prefix(limit)
        let next = kept.count > limit ? page.last.map { DevicePosition(key: position($0.key), id: $0.id) } : nil
        return DeviceIndex.Found(ids: page.map(\.id), total: total, next: next)
    }

    private func precedes(_ left: Place, _ right: Place) -> Bool {
        let (first, second) = isDescending ? (right, left) : (left, right)
        if first.key != second.key { return first.key < second.key }
        return (first.id.high, first.id.low) < (second.id.high, second.id.low)
    }
}

/// What lists need of one device, in memory; well under 1 KB.
struct DeviceIndexEntry {
    let organization: String
    let application: String
    let agentVersion: String
    /// The most bytes of each text in a beacon. A device may send more, which must not be kept for all of them.
    private static let textBytes = WireEnrollRequest.textBytes

    /// In lower case, for sorting.
    let sortName: String
    /// In lower case.
    private let system: (name: String, distribution: String, version: String)
    let compliance: WireCompliance
    let compromised: WireVerdict
    let isTest: Bool
    /// The searchable texts in lower case, one per line.
    let searched: [UInt8]
    let enrolled: Int64
    private let hasLeft: Bool
    private let isRevoked: Bool
    private let lastBeacon: Int64?
    private var expectedBeaconSeconds: UInt32?
    private(set) var lastSeen: Int64?
    private(set) var profileRevision: UInt64?
    /// Names of profile settings that the device cannot apply. Limited, because devices choose them.
    let profileFindings: [String]
    private static let maximumFindings = 16
    private static let findingBytes = 64

    /// - Parameter shared: returns the same string for equal ones, because a fleet has few applications and systems.
    init(_ row: DeviceRow, shared: (String) -> String) {
        organization = shared(row.organization)
        application = shared(row.application)
        agentVersion = shared(row.newestAgentVersion.cut(toBytes: Self.textBytes))
        sortName = row.name.lowercased()
        let newest = row.newestOperatingSystem
        func name(_ text: String) -> String { shared(text.cut(toBytes: Self.textBytes).lowercased()) }
        system = (name(newest.name), name(newest.distribution), name(newest.version))
        compliance = row.compliance
        compromised = row.verdicts?.beacon.compromised ?? .unknown
        isTest = row.test
        searched = Self.searched(row)
        enrolled = row.enrolled
        hasLeft = row.left != nil
        isRevoked = row.revoked != nil
        lastBeacon = row.lastBeacon
        expectedBeaconSeconds = row.expectedBeaconSeconds
        lastSeen = row.lastSeen
        profileRevision = row.profileRevision
        let findings = (row.beacon?.profileFindings ?? []).prefix(Self.maximumFindings).map {
            $0.cut(toBytes: Self.findingBytes)
        }
        profileFindings = Set(findings).sorted().map(shared)
    }

    /// Takes what newer records of the device report, except a beacon or identity. With one of those the entry is made
    /// again.
    mutating func note(_ sight: DeviceObservation) {
        lastSeen = max(lastSeen ?? .min, sight.at)
        expectedBeaconSeconds = sight.expectedBeaconSeconds ?? expectedBeaconSeconds
        profileRevision = sight.profileRevision ?? profileRevision
    }

    /// Neither unenrolled nor revoked.
    var isWelcome: Bool { !hasLeft && !isRevoked }

    func state(at now: Int64) -> ReportingState {
        ReportingState(
            hasLeft: hasLeft, isRevoked: isRevoked, expectedBeaconSeconds: expectedBeaconSeconds,
            lastBeacon: lastBeacon, enrolled: enrolled, at: now)
    }

    /// - Parameter name: of a system or distribution, optionally with its version; in lower case.
    func runs(_ name: String) -> Bool {
        [system.name, system.distribution].contains {
            $0 == name || (name.hasPrefix($0) && name == "\($0) \(system.version)")
        }
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
