import WireModel

/// Both verdicts with their evidence, and what the profile asks to be reported to the program because of them. Pure.
struct VerdictReport: Equatable, Sendable {
    /// `nil` if no detector has run yet.
    var compromise: CompromiseReport?
    var compliance: ComplianceReport
    /// Why the profile asks to block the use of the program; empty if it does not.
    let blocks: [String]

    init(compromise: CompromiseReport?, compliance: ComplianceReport, settings: DeviceSettings) {
        self.compromise = compromise
        self.compliance = compliance
        var blocks: [String] = []
        if let compromise, compromise.verdict == .yes, settings.compromiseConsequence == .block {
            let signs = compromise.findings.filter { $0.finding.verdict == .yes }.map(\.detector)
            blocks.append("the device is compromised: \(signs.joined(separator: ", "))")
        }
        let blocking = Set(
            settings.compliance.filter { VerdictConsequence(profile: $0.consequence) == .block }.map(\.id))
        for result in compliance.results where result.state == .nonCompliant && blocking.contains(result.rule) {
            blocks.append("rule \(result.rule) is broken: \(result.actual) is not \(result.expected)")
        }
        self.blocks = blocks
    }

    /// Both verdicts in the form for people.
    var status: DataSamplerStatus.Verdicts {
        .init(
            compromised: (compromise?.verdict ?? .unknown).rawValue,
            findings: (compromise?.findings ?? []).map {
                .init(detector: $0.detector, verdict: $0.finding.verdict.rawValue, evidence: $0.finding.evidence)
            },
            deviceCompliance: Self.name(compliance.device), applicationCompliance: Self.name(compliance.application),
            rules: compliance.results.map {
                .init(rule: $0.rule, state: Self.name($0.state), actual: $0.actual, expected: $0.expected)
            }, blocks: blocks)
    }

    private static func name(_ compliance: WireCompliance) -> String {
        switch compliance {
        case .compliant: "compliant"
        case .nonCompliant: "non-compliant"
        case .unknown, .UNRECOGNIZED: "unknown"
        }
    }
}

extension SamplerCore {
    /// Both verdicts as they are now, without a wait for detectors that have not run yet.
    var verdicts: VerdictReport {
        let settings = settings
        return VerdictReport(
            compromise: beacons.compromise.newest,
            compliance: beacons.compliance(settings, facts: DeviceFacts.Reading(identity: machineIdentity())),
            settings: settings)
    }
}
