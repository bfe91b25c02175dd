import WireModel

/// Evaluates the profile's compliance rules. Pure. The result is reported; the rule's action is not carried out here.
enum ComplianceRules {
    /// - Parameters:
    ///   - applicationVersion: the program's version; empty if unknown.
    ///   - operatingSystemVersion: the distribution's version; empty if unknown or if the distribution has none.
    ///   - sides: on which side of each geofence the device is, by the geofence's id.
    static func evaluate(
        _ rules: [WireComplianceRule], applicationVersion: String, operatingSystemVersion: String,
        sides: [String: GeofenceSide] = [:]
    ) -> ComplianceReport {
        var report = ComplianceReport()
        var device: [WireCompliance] = []
        var application: [WireCompliance] = []
        for rule in rules {
            let subject = ComplianceSubject(rawValue: rule.subject)
            var result = WireRuleResult()
            result.rule = rule.id
            result.action = rule.action
            result.expected = rule.expectation
            switch subject {
            case .applicationVersion: result.actual = applicationVersion
            case .operatingSystemVersion: result.actual = operatingSystemVersion
            case .location: result.actual = (sides[rule.geofence] ?? .unknown).rawValue
            // A subject of a later version cannot be evaluated.
            case nil: break
            }
            result.state = rule.state(of: result.actual)
            report.results.append(result)
            if subject == .applicationVersion { application.append(result.state) } else { device.append(result.state) }
        }
        report.device = all(device)
        report.application = all(application)
        return report
    }

    /// A broken rule decides. A rule that cannot be evaluated makes the whole unknown. No rule gives no result.
    private static func all(_ states: [WireCompliance]) -> WireCompliance {
        if states.contains(.nonCompliant) { return .nonCompliant }
        return !states.isEmpty && states.allSatisfy { $0 == .compliant } ? .compliant : .unknown
    }
}

/// The results of the profile's compliance rules for this device and its application.
struct ComplianceReport: Equatable, Sendable {
    /// Unknown if no rule examines the device.
    var device = WireCompliance.unknown
    /// Unknown if no rule examines the application.
    var application = WireCompliance.unknown
    /// One per rule, in the profile's order.
    var results: [WireRuleResult] = []
}
