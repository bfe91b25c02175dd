import WireModel

/// A query with its values looked up, so that devices are compared by numbers. Good for one pass over an index.
struct DeviceFilter {
    /// The filters with a facet that a device fails.
    struct Failures: OptionSet {
        var rawValue: UInt8

        static let state = Failures(rawValue: 1 << 0)
        static let operatingSystem = Failures(rawValue: 1 << 1)
        static let agentVersion = Failures(rawValue: 1 << 2)
        static let application = Failures(rawValue: 1 << 3)
        static let applicationVersion = Failures(rawValue: 1 << 4)
        static let compliance = Failures(rawValue: 1 << 5)
        static let compromised = Failures(rawValue: 1 << 6)
        static let profileRevision = Failures(rawValue: 1 << 7)

        var isAtMostOne: Bool { rawValue & (rawValue &- 1) == 0 }
    }

    /// The condition on a text.
    private enum Text {
        case any
        /// No device has the text.
        case absent
        case number(DeviceIndexEntry.Text)

        init(_ text: String?, _ values: DeviceIndexEntry.Values) {
            self = text.map { text in values.texts.number(of: text).map(Text.number) ?? .absent } ?? .any
        }

        func admits(_ text: DeviceIndexEntry.Text) -> Bool {
            switch self {
            case .any: true
            case .absent: false
            case .number(let number): number == text
            }
        }
    }

    private let query: DeviceQuery
    private let organization: Text
    private let application: Text
    private let agentVersion: Text
    private let applicationVersion: Text
    private let enrollmentToken: Text
    /// The chosen systems by number of the system; `nil` for all.
    private let systems: [Bool]?
    private let words: [[UInt8]]
    private let now: Int64

    init(_ query: DeviceQuery, _ values: DeviceIndexEntry.Values, at now: Int64) {
        self.query = query
        self.now = now
        organization = Text(query.organization, values)
        application = Text(query.application, values)
        agentVersion = Text(query.agentVersion, values)
        applicationVersion = Text(query.applicationVersion, values)
        enrollmentToken = Text(query.enrollmentToken, values)
        systems = query.operatingSystem.map { text in
            let text = text.lowercased()
            return (0..<values.systems.end).map { values.systems.value($0)?.isMeant(by: text) ?? false }
        }
        words = query.text.lowercased().split(whereSeparator: \.isWhitespace).map { Array($0.utf8) }
    }

    func admits(_ entry: DeviceIndexEntry) -> Bool {
        guard let failures = failures(entry, state: query.states.isEmpty ? nil : entry.state(at: now)) else {
            return false
        }
        return failures.isEmpty && entry.has(words)
    }

    /// - Returns: `nil` for a device that counts in no facet, because it fails several filters or one without a facet.
    func failuresForFacets(_ entry: DeviceIndexEntry, state: ReportingState) -> Failures? {
        guard let failures = failures(entry, state: state), failures.isAtMostOne, entry.has(words) else { return nil }
        return failures
    }

    /// - Parameter state: the device's; `nil` if the query admits every state.
    /// - Returns: `nil` for a device that fails a filter without a facet. The words are not looked for.
    private func failures(_ entry: DeviceIndexEntry, state: ReportingState?) -> Failures? {
        guard organization.admits(entry.organization), enrollmentToken.admits(entry.enrollmentToken),
            query.withTest || !entry.isTest
        else { return nil }
        var failures: Failures = []
        if let state, !query.states.isEmpty, !query.states.contains(state) { failures.insert(.state) }
        if let systems, !systems[Int(entry.system)] { failures.insert(.operatingSystem) }
        if !agentVersion.admits(entry.agentVersion) { failures.insert(.agentVersion) }
        if !application.admits(entry.application) { failures.insert(.application) }
        if !applicationVersion.admits(entry.applicationVersion) { failures.insert(.applicationVersion) }
        if let compliance = query.compliance, compliance != entry.compliance { failures.insert(.compliance) }
        if let compromised = query.compromised, compromised != entry.compromised { failures.insert(.compromised) }
        if let revision = query.profileRevision, revision != .init(entry.profileRevision) {
            failures.insert(.profileRevision)
        }
        return failures
    }
}
