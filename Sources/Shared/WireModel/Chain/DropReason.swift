/// Why a record left the device's queue without being stored. A reason that this version does not know is passed on
/// unchanged.
///
/// The raw values are those of `DropReason` in telemetry.proto.
package struct DropReason: RawRepresentable, Hashable, Sendable, Comparable {
    package let rawValue: Int

    package init(rawValue: Int) { self.rawValue = rawValue }

    package static let byteCap = Self(rawValue: 1)
    package static let rowCap = Self(rawValue: 2)
    package static let ageCap = Self(rawValue: 3)
    package static let diskFull = Self(rawValue: 4)
    package static let tooLarge = Self(rawValue: 5)
    package static let bufferFull = Self(rawValue: 6)
    package static let unreadable = Self(rawValue: 7)
    package static let quarantined = Self(rawValue: 8)
    package static let moved = Self(rawValue: 9)
    package static let wiped = Self(rawValue: 10)
    package static let clone = Self(rawValue: 11)
    package static let unverifiable = Self(rawValue: 12)
    package static let consent = Self(rawValue: 13)
    package static let unenrolled = Self(rawValue: 14)
    package static let rebound = Self(rawValue: 15)
    package static let salvage = Self(rawValue: 16)
    package static let malformed = Self(rawValue: 17)
    package static let disabled = Self(rawValue: 18)

    /// The values a reason may have, including those of later versions. There are few, so a mark's counts by reason
    /// stay small whatever a device sends.
    package static let valid = 1...255

    private static let names = [
        1: "byte-cap", 2: "row-cap", 3: "age-cap", 4: "disk-full", 5: "too-large", 6: "buffer-full", 7: "unreadable",
        8: "quarantined", 9: "moved", 10: "wiped", 11: "clone", 12: "unverifiable", 13: "consent", 14: "unenrolled",
        15: "rebound", 16: "salvage", 17: "malformed", 18: "disabled",
    ]

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

extension DropReason: CustomStringConvertible {
    /// The name shown to people and in JSON; `reason-<n>` for an unknown reason.
    package var description: String { Self.names[rawValue] ?? "reason-\(rawValue)" }
}

/// Why a collector did not store a record whose number it passed. A reason that this version does not know is passed on
/// unchanged.
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
    /// The name shown to people and in JSON; `reason-<n>` for an unknown reason.
    package var description: String {
        switch self {
        case .recordTooLarge: "record-too-large"
        case .malformedEnvelope: "malformed-envelope"
        case .policy: "policy"
        default: "reason-\(rawValue)"
        }
    }
}
