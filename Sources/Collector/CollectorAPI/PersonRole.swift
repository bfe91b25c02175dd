/// The rights of a person or script. Each role includes those before it. The raw value is used on disk.
package enum PersonRole: Int, Sendable, Comparable, CaseIterable, Codable {
    /// Reads metrics in Prometheus' formats and nothing else. Its token stands in the configuration of a monitoring
    /// system, where more people see it than may see devices' records and logs.
    case scraper = 4
    case viewer = 1
    case `operator` = 2
    case administrator = 3

    private var rank: Int {
        switch self {
        case .scraper: 0
        case .viewer: 1
        case .operator: 2
        case .administrator: 3
        }
    }

    package static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }
}

extension PersonRole: CustomStringConvertible {
    package var description: String {
        switch self {
        case .scraper: "scraper"
        case .viewer: "viewer"
        case .operator: "operator"
        case .administrator: "administrator"
        }
    }
}
