import WireModel

/// How many devices have each value of what lists are filtered by.
///
/// A device counts in a facet if it matches every filter but the facet's own. So a facet of which one value is chosen
/// still shows how many devices the other values have.
package struct DeviceFacets: Equatable, Sendable {
    /// The most values of a facet. Devices make up some of them, so there may be as many as devices.
    package static let maximumValues = 100

    /// Devices that match every filter.
    package var total = 0
    package var state = DeviceFacet<ReportingState>()
    /// The operating systems as `DeviceQuery.operatingSystem` accepts them; `nil` for devices that reported none, as in
    /// the other facets.
    package var operatingSystem = DeviceFacet<String?>()
    package var agentVersion = DeviceFacet<String?>()
    package var application = DeviceFacet<String?>()
    package var applicationVersion = DeviceFacet<String?>()
    package var compliance = DeviceFacet<WireCompliance>()
    package var compromised = DeviceFacet<WireVerdict>()
    package var profileRevision = DeviceFacet<UInt64?>()

    /// Creates the facets of no device.
    package init() {}
}

/// The values of one facet.
package struct DeviceFacet<Value: Equatable & Sendable>: Equatable, Sendable {
    package struct Count: Equatable, Sendable {
        package var value: Value
        package var devices: Int
    }

    /// The values that most devices have, the most frequent first.
    package var values: [Count] = []
    /// The number of other values, and of the devices that have one of those.
    package var furtherValues = 0
    package var furtherDevices = 0

    init() {}

    /// - Parameter precedes: the order of values that as many devices have.
    init(_ counts: some Sequence<(Value, Int)>, precedes: @escaping (Value, Value) -> Bool) {
        var first = FirstOf<Count>(limit: DeviceFacets.maximumValues) {
            $0.devices != $1.devices ? $0.devices > $1.devices : precedes($0.value, $1.value)
        }
        for (value, devices) in counts where devices > 0 {
            furtherValues += 1
            furtherDevices += devices
            first.offer(Count(value: value, devices: devices))
        }
        values = first.kept
        furtherValues -= values.count
        furtherDevices -= values.reduce(0) { $0 + $1.devices }
    }
}

/// Counts devices for facets.
struct DeviceFacetCounter {
    private var total = 0
    /// The counts by place of the state.
    private var states = Array(repeating: 0, count: ReportingState.allCases.count)
    /// The counts by number of the value, as the three others.
    private var systems: [Int]
    private var agentVersions: [Int]
    private var applications: [Int]
    private var applicationVersions: [Int]
    private var compliance: [WireCompliance: Int] = [:]
    private var compromised: [WireVerdict: Int] = [:]
    private var revisions: [UInt64?: Int] = [:]

    init(_ values: DeviceIndexEntry.Values) {
        systems = Array(repeating: 0, count: values.systems.end)
        agentVersions = Array(repeating: 0, count: values.texts.end)
        (applications, applicationVersions) = (agentVersions, agentVersions)
    }

    /// - Parameter failures: at most one.
    mutating func add(_ entry: DeviceIndexEntry, state: ReportingState, failures: DeviceFilter.Failures) {
        if failures.isEmpty { total += 1 }
        func counts(_ own: DeviceFilter.Failures) -> Bool { own.isSuperset(of: failures) }
        if counts(.state) { states[state.place] += 1 }
        if counts(.operatingSystem) { systems[Int(entry.system)] += 1 }
        if counts(.agentVersion) { agentVersions[Int(entry.agentVersion)] += 1 }
        if counts(.application) { applications[Int(entry.application)] += 1 }
        if counts(.applicationVersion) { applicationVersions[Int(entry.applicationVersion)] += 1 }
        if counts(.compliance) { compliance[entry.compliance, default: 0] += 1 }
        if counts(.compromised) { compromised[entry.compromised, default: 0] += 1 }
        if counts(.profileRevision) { revisions[entry.profileRevision, default: 0] += 1 }
    }

    func facets(_ values: DeviceIndexEntry.Values) -> DeviceFacets {
        var facets = DeviceFacets()
        facets.total = total
        facets.state = DeviceFacet(ReportingState.allCases.map { ($0, states[$0.place]) }) { $0.place < $1.place }
        // Several systems may have one label.
        var labels: [String: Int] = [:]
        for (number, devices) in systems.enumerated() where devices > 0 {
            labels[values.systems.value(number)?.label ?? "", default: 0] += devices
        }
        facets.operatingSystem = Self.texts(labels.lazy.map { ($0.key, $0.value) })
        func texts(_ counts: [Int]) -> DeviceFacet<String?> {
            Self.texts(
                counts.enumerated().lazy.filter { $0.element > 0 }.map {
                    (values.texts.value($0.offset) ?? "", $0.element)
                })
        }
        facets.agentVersion = texts(agentVersions)
        facets.application = texts(applications)
        facets.applicationVersion = texts(applicationVersions)
        facets.compliance = DeviceFacet(compliance.lazy.map { ($0.key, $0.value) }) { $0.rawValue < $1.rawValue }
        facets.compromised = DeviceFacet(compromised.lazy.map { ($0.key, $0.value) }) { $0.rawValue < $1.rawValue }
        facets.profileRevision = DeviceFacet(revisions.lazy.map { ($0.key, $0.value) }) { ($0 ?? 0) > ($1 ?? 0) }
        return facets
    }

    private static func texts(_ counts: some Sequence<(String, Int)>) -> DeviceFacet<String?> {
        DeviceFacet(counts.lazy.map { ($0.0.isEmpty ? nil : $0.0, $0.1) }) { ($0 ?? "") < ($1 ?? "") }
    }
}
