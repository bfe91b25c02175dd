/// Why a collector did not keep a record whose number it passed. Open: a reason this version does not know is carried on.
///
/// The raw values are those of `RejectReason` in telemetry.proto.
package struct RejectReason: RawRepresentable, Hashable, Sendable, Comparable {
    package let rawValue: Int

    package init(rawValue: Int) { self.rawValue = rawValue }

    package static let recordTooLarge = Self(rawValue: 1)
    package static let malformedEnvelope = Self(rawValue: 2)
    package static let policy = Self(rawValue: 3)

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

extension RejectReason: CustomStringConvertible {
    /// The name people and JSON see; `reason-<n>` for one this version does not know.
    package var description: String {
        switch self {
        case .recordTooLarge: "record-too-large"
        case .malformedEnvelope: "malformed-envelope"
        case .policy: "policy"
        default: "reason-\(rawValue)"
        }
    }
}
