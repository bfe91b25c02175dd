import Testing
import WireModel

@testable import DataSampler

@Suite struct ComplianceRulesTests {
    private static func rule(_ subject: String, _ comparison: String, _ version: String, id: String = "r")
        -> WireComplianceRule
    {
        var rule = WireComplianceRule()
        rule.id = id
        rule.subject = subject
        rule.operator = comparison
        rule.version = version
        rule.action = "notify"
        return rule
    }

    private func evaluate(_ rules: [WireComplianceRule], application: String = "2.1", system: String = "12")
        -> ComplianceReport
    {
        ComplianceRules.evaluate(rules, applicationVersion: application, operatingSystemVersion: system)
    }

    @Test func `Without rules nothing is known`() {
        #expect(evaluate([]) == ComplianceReport())
        #expect(ComplianceReport().device == .unknown && ComplianceReport().application == .unknown)
    }

    @Test func `A result reports the rule, what is, what should be and what the rule wants done`() throws {
        let report = evaluate([Self.rule("operating-system-version", ">=", "13", id: "os")])
        let result = try #require(report.results.first)
        #expect(
            result.rule == "os" && result.state == .nonCompliant && result.actual == "12" && result.expected == ">= 13")
        #expect(result.action == "notify")
        #expect(report.device == .nonCompliant && report.application == .unknown)
    }

    @Test(
        arguments: [
            ("application-version", ">=", "2.0", .unknown, .compliant),
            ("application-version", "<", "2.1", .unknown, .nonCompliant),
            ("application-version", "=", "2.1.0", .unknown, .compliant),
            ("application-version", "!=", "2.1", .unknown, .nonCompliant),
            ("operating-system-version", "<=", "12", .compliant, .unknown),
            ("operating-system-version", ">", "12", .nonCompliant, .unknown),
            // What nobody here understands is not judged.
            ("operating-system-version", "~>", "12", .unknown, .unknown),
            ("operating-system-version", ">", "x", .unknown, .unknown),
            ("patch-level", ">", "1", .unknown, .unknown),
        ] as [(String, String, String, WireCompliance, WireCompliance)])
    func `Each subject counts for its own`(
        subject: String, comparison: String, version: String, device: WireCompliance, application: WireCompliance
    ) {
        let report = evaluate([Self.rule(subject, comparison, version)])
        #expect(report.device == device && report.application == application)
    }

    @Test(
        arguments: [
            ("inside", .inside, .compliant), ("inside", .outside, .nonCompliant), ("inside", .unknown, .unknown),
            ("outside", .inside, .nonCompliant), ("outside", .outside, .compliant), ("outside", .unknown, .unknown),
            ("inside", nil, .unknown), ("near", .inside, .unknown),
        ] as [(String, GeofenceSide?, WireCompliance)])
    func `A rule on the location is judged by the side of its geofence`(
        expected: String, side: GeofenceSide?, state: WireCompliance
    ) throws {
        var rule = Self.rule("location", expected, "")
        rule.geofence = "yard"
        let report = ComplianceRules.evaluate(
            [rule], applicationVersion: "", operatingSystemVersion: "",
            sides: ["yard": side, "other": .inside].compactMapValues { $0 })
        let result = try #require(report.results.first)
        #expect(report.device == state && report.application == .unknown)
        #expect(result.actual == (side ?? .unknown).rawValue && result.expected == "\(expected) yard")
    }

    @Test(arguments: ["", "rolling", "12 (bookworm)"]) func `A version that cannot be read is unknown, never compliant`(
        version: String
    ) {
        for comparison in ComplianceOperator.allCases {
            let report = evaluate([Self.rule("operating-system-version", comparison.rawValue, "1")], system: version)
            #expect(report.device == .unknown && report.results.first?.actual == version)
        }
    }

    /// 12 may be any of 12.0 to 12.11.
    @Test(arguments: ComplianceOperator.allCases) func `A version without its point release is not judged by one`(
        comparison: ComplianceOperator
    ) {
        let rule = Self.rule("operating-system-version", comparison.rawValue, "12.5")
        #expect(evaluate([rule], system: "12").device == .unknown)
        #expect(evaluate([rule], system: "12.0").device == .unknown)
        for system in ["11", "12.4", "12.5", "12.11", "13"] {
            #expect(evaluate([rule], system: system).device != .unknown)
        }
        // A program says its whole version.
        let own = Self.rule("application-version", comparison.rawValue, "12.5")
        #expect(evaluate([own], application: "12").application != .unknown)
    }

    @Test func `One broken rule decides, one that cannot be judged leaves the whole unknown`() {
        let good = Self.rule("operating-system-version", ">=", "11")
        let bad = Self.rule("operating-system-version", "<", "12")
        let odd = Self.rule("operating-system-version", "is", "12")
        for (rules, expected) in [
            ([good, good], .compliant), ([good, odd], .unknown), ([odd], .unknown), ([odd, bad, good], .nonCompliant),
        ] as [([WireComplianceRule], WireCompliance)] {
            let report = evaluate(rules)
            #expect(report.device == expected)
            #expect(report.results.count == rules.count)
        }
    }
}
