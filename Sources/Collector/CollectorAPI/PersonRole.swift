/// The rights of a person or script. Each role includes those before it. The raw value is used on disk.
package enum PersonRole: Int, Sendable, Comparable, CaseIterable, Codable {
    case viewer = 1
    case `operator` = 2
    case administrator = 3

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

extension PersonRole: CustomStringConvertible {
    package var description: String {
        switch self {
        case .viewer: "viewer"
        case .operator: "operator"
        case .administrator: "administrator"
        }
    }
}
