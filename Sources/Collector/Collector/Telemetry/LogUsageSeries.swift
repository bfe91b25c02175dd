import CollectorStore

/// The logs kept of one application, or of the rest of an organization's, as a metric tells them.
///
/// Devices choose the names of applications, and each value of a label is a series that whoever scrapes keeps for long.
/// So each organization has a label of its own for its largest applications alone. Pure.
struct LogUsageSeries: Equatable {
    /// Applications of an organization that are told by name; test devices' apart.
    static let named = 20
    static let rest = "other"

    var organization: String
    var application: String
    var test: Bool
    var rawBytes: Int
    /// `nil` for the rest: each of them has a quota of its own.
    var quotaBytes: Int?

    var labels: [(String, String)] {
        [("organization", organization), ("application", application), ("test", test ? "true" : "false")]
    }

    static func of(_ usage: [LogUsageRow]) -> [LogUsageSeries] {
        struct Group: Hashable {
            var organization: String
            var test: Bool
        }
        let groups = Dictionary(grouping: usage) { Group(organization: $0.organization, test: $0.test) }
        let series = groups.flatMap { group, rows -> [LogUsageSeries] in
            // An application that is called like the rest is told with it: two series must not have the same labels.
            let largest = rows.filter { $0.application != rest }.sorted {
                ($1.rawBytes, $0.application) < ($0.rawBytes, $1.application)
            }
            let told = largest.prefix(named).map {
                LogUsageSeries(
                    organization: $0.organization, application: $0.application, test: $0.test, rawBytes: $0.rawBytes,
                    quotaBytes: $0.quotaBytes)
            }
            let others = largest.dropFirst(named) + rows.filter { $0.application == rest }
            guard !others.isEmpty else { return told }
            return told + [
                LogUsageSeries(
                    organization: group.organization, application: rest, test: group.test,
                    rawBytes: others.reduce(0) { $0 + $1.rawBytes }, quotaBytes: nil)
            ]
        }
        return series.sorted {
            ($0.organization, $0.application, $0.test ? 1 : 0) < ($1.organization, $1.application, $1.test ? 1 : 0)
        }
    }
}
