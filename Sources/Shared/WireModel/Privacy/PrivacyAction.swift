/// What becomes of a field of a privacy class before a record is made, in ascending strictness.
///
/// The order is that of what is left: a hash keeps "the same as then" for all values, a coarse value keeps a part of the value that many
/// share and nothing to tell two of them apart by, and what is dropped is gone. It is also the order of the numbers in telemetry.proto.
package enum PrivacyAction: String, CaseIterable, Comparable, Sendable {
    case send
    case hash
    case coarsen
    case drop

    /// `nil` for "not decided here". What a later version may add is taken for the strictest: unknown is never permission.
    package init?(_ wire: WirePrivacyAction) {
        switch wire {
        case .unspecified: return nil
        case .send: self = .send
        case .hash: self = .hash
        case .coarsen: self = .coarsen
        case .drop, .UNRECOGNIZED: self = .drop
        }
    }

    private var strictness: Int {
        switch self {
        case .send: 0
        case .hash: 1
        case .coarsen: 2
        case .drop: 3
        }
    }

    package static func < (left: Self, right: Self) -> Bool { left.strictness < right.strictness }
}
