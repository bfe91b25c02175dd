/// The three first-in first-out streams of an epoch. The raw value is on the wire and on disk, for ever.
///
/// Ordered by importance: status is sent first and dropped last.
package enum StreamName: Int, CaseIterable, Hashable, Sendable, Codable, Comparable, CustomStringConvertible {
    /// Beacons and command results.
    case status = 1
    /// Analytics events.
    case event = 2
    /// Samples of all modules.
    case sample = 3

    package init?(name: String) {
        guard let stream = Self.allCases.first(where: { $0.description == name }) else { return nil }
        self = stream
    }

    package var description: String {
        switch self {
        case .status: "status"
        case .event: "event"
        case .sample: "sample"
        }
    }

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
