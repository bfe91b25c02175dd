import CollectorAPI
import Testing
import WireModel

@testable import Registry

@Suite("What a change of a profile may do to devices") struct ProfileRiskTests {
    private static func rule(_ consequence: String, _ change: (inout WireComplianceRule) -> Void = { _ in })
        -> WireProfile
    {
        var rule = WireComplianceRule()
        (rule.id, rule.subject, rule.operator, rule.version) = ("r", "operating-system-version", ">=", "12")
        rule.consequence = consequence
        change(&rule)
        var profile = WireProfile()
        profile.compliance = [rule]
        return profile
    }

    private static func detection(_ consequence: String, paths: [String] = []) -> WireProfile {
        var profile = WireProfile()
        profile.detection.consequence = consequence
        profile.detection.systemPaths = paths
        return profile
    }

    private static func count(from former: WireProfile, to changed: WireProfile) -> Int {
        ProfileRisk.Cause.added(by: changed, to: former).count
    }

    @Test func `Only what the change brings is a risk`() {
        let none = WireProfile()
        for (consequence, risks) in [("wipe", 1), ("block", 1), ("report", 0), ("", 0)] {
            #expect(Self.count(from: none, to: Self.rule(consequence)) == risks, "\(consequence)")
            #expect(Self.count(from: none, to: Self.detection(consequence)) == risks, "\(consequence)")
        }
        let wipe = Self.rule("wipe")
        #expect(Self.count(from: wipe, to: wipe) == 0 && Self.count(from: wipe, to: none) == 0)
        #expect(Self.count(from: Self.rule("block"), to: wipe) == 1)
        #expect(Self.count(from: wipe, to: Self.rule("wipe") { $0.version = "13" }) == 1)
        #expect(Self.count(from: wipe, to: Self.rule("wipe") { $0.action = "Call us" }) == 0)
        // Another detector may find more devices compromised.
        #expect(Self.count(from: Self.detection("wipe"), to: Self.detection("wipe", paths: ["/opt"])) == 1)
    }

    @Test func `Another area of the same name is another risk`() {
        func profile(radius: Double) -> WireProfile {
            var profile = Self.rule("wipe") {
                ($0.subject, $0.operator, $0.version, $0.geofence) = ("location", "inside", "", "yard")
            }
            var fence = WireGeofence()
            (fence.id, fence.radiusMeters) = ("yard", radius)
            profile.geofences = [fence]
            return profile
        }
        #expect(Self.count(from: WireProfile(), to: profile(radius: 100)) == 1)
        #expect(Self.count(from: profile(radius: 100), to: profile(radius: 100)) == 0)
        #expect(Self.count(from: profile(radius: 100), to: profile(radius: 50)) == 1)
        // Nobody knows yet which devices it concerns.
        let risks = ProfileRisk.risks(
            [ConsequenceGroup(application: "a"): 3], from: { _ in WireProfile() }, to: { _ in profile(radius: 9) })
        #expect(risks.map(\.devices) == [3] && risks.map(\.concerned) == [0])
    }

    @Test func `Devices are counted by what they reported last`() {
        func group(_ system: String, _ isCompromised: Bool = false) -> ConsequenceGroup {
            ConsequenceGroup(application: "a", systemVersion: system, isCompromised: isCompromised)
        }
        var changed = Self.rule("wipe")
        changed.detection.consequence = "block"
        let groups = [group("11"): 3, group("12.1"): 4, group(""): 5, group("12", true): 2]
        let risks = ProfileRisk.risks(groups, from: { _ in WireProfile() }, to: { _ in changed })
        #expect(risks.map(\.devices) == [14, 14])
        // A version that is not known breaks no rule.
        #expect(risks.map(\.concerned) == [3, 2])
    }
}
