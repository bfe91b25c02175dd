import WireModel

/// Judges the profile's compliance rules. Pure. The result is reported; the rule's action is never carried out here.
enum ComplianceRules {
    /// - Parameters:
    ///   - applicationVersion: of the program; empty: unknown.
    ///   - operatingSystemVersion: of the distribution; empty: unknown, as with distributions that have none.
    static func evaluate(
        _ rules: [WireComplianceRule], applicationVersion: String, operatingSystemVersion: String
    ) -> ComplianceReport {
        var report = ComplianceReport()
        var device: [WireCompliance] = []
        var application: [WireCompliance] = []
        for rule in rules {
            let subject = ComplianceSubject(rawValue: rule.subject)
            var result = WireRuleResult()
            result.rule = rule.id
            result.action = rule.action
            result.expected = "\(rule.operator) \(rule.version)"
            switch subject {
            case .applicationVersion: result.actual = applicationVersion
            case .operatingSystemVersion: result.actual = operatingSystemVersion
            // A subject of a later version: nobody here can look at it.
            case nil: break
            }
            result.state = state(of: rule, actual: result.actual)
            report.results.append(result)
            if subject == .applicationVersion { application.append(result.state) } else { device.append(result.state) }
        }
        report.device = all(device)
        report.application = all(application)
        return report
    }

    private static func state(of rule: WireComplianceRule, actual: String) -> WireCompliance {
        guard let comparison = ComplianceOperator(rawValue: rule.operator), let expected = VersionNumber(rule.version),
            let version = VersionNumber(actual)
        else { return .unknown }
        return comparison.holds(version, expected) ? .compliant : .nonCompliant
    }

    /// One rule that is broken decides; one that cannot be judged leaves the whole unknown; no rule says nothing.
    private static func all(_ states: [WireCompliance]) -> WireCompliance {
        if states.contains(.nonCompliant) { return .nonCompliant }
        return !states.isEmpty && states.allSatisfy { $0 == .compliant } ? .compliant : .unknown
    }
}

/// What the profile's compliance rules say of this device and its application.
struct ComplianceReport: Equatable, Sendable {
    /// Unknown where no rule looks at the device.
    var device = WireCompliance.unknown
    /// Unknown where no rule looks at the application.
    var application = WireCompliance.unknown
    /// One for each rule, in the profile's order.
    var results: [WireRuleResult] = []
}
