/// The subject that a compliance rule compares.
package enum ComplianceSubject: String, CaseIterable, Sendable {
    /// The version of the program that embeds the library. The result applies to the application.
    case applicationVersion = "application-version"
    /// The distribution's version from its os-release file. The result applies to the device.
    case operatingSystemVersion = "operating-system-version"
    /// Whether the device is in a geofence of the profile. The result applies to the device.
    case location
}

/// Where a device is, seen from a geofence.
package enum GeofenceSide: String, Codable, Sendable {
    case inside
    case outside
    /// Nobody may read the position or nothing knows it, or it cannot be decided yet.
    case unknown

    /// What a compliance rule can expect.
    package static let expectable = [GeofenceSide.inside, .outside]
}

/// The consequence where a compliance rule is broken or a device is compromised. A device never erases anything on its
/// own verdict.
package enum VerdictConsequence: String, CaseIterable, Sendable {
    /// Device and collector report it.
    case report
    /// The device also informs the program that embeds the library.
    case block
    /// The collector also issues a wipe, once per incident.
    case wipe

    /// - Parameter name: of a valid profile; empty for none.
    package init(profile name: String) { self = Self(rawValue: name) ?? .report }
}

extension WireProfile {
    /// The geofence that a rule names; `nil` if it names none.
    package func geofence(of rule: WireComplianceRule) -> WireGeofence? {
        rule.isOfLocation ? geofences.first { $0.id == rule.geofence } : nil
    }
}

extension WireComplianceRule {
    /// The expectation of the rule, as `RuleResult.expected` reports it.
    package var expectation: String { "\(`operator`) \(isOfLocation ? geofence : version)" }

    package var isOfLocation: Bool { subject == ComplianceSubject.location.rawValue }

    /// Whether a version or a side of a geofence meets the rule. Unknown if one of the two is no version, if the rule
    /// asks for a point release and the system does not name its own, or if the side is unknown.
    /// - Parameter actual: empty if it is not known.
    package func state(of actual: String) -> WireCompliance {
        if isOfLocation {
            let sides = GeofenceSide.expectable.map(\.rawValue)
            guard sides.contains(actual), sides.contains(`operator`) else { return .unknown }
            return actual == `operator` ? .compliant : .nonCompliant
        }
        guard let comparison = ComplianceOperator(rawValue: `operator`), let expected = VersionNumber(version),
            let version = VersionNumber(actual)
        else { return .unknown }
        // Some distributions do not name their point release: Debian 12.11 may call itself 12.
        if subject == ComplianceSubject.operatingSystemVersion.rawValue, version.isShortened(of: expected) {
            return .unknown
        }
        return comparison.holds(version, expected) ? .compliant : .nonCompliant
    }
}
