import RecordStore
import WireModel

/// A setting by which a change of a profile may erase, block or silence devices. A person confirms it before it is
/// saved.
package struct ProfileRisk: Equatable, Sendable {
    package enum Cause: Hashable, Sendable {
        /// A compliance rule whose consequence is more than a report.
        case rule(WireComplianceRule)
        /// The consequence of a compromise, which is more than a report.
        case compromise(VerdictConsequence)
        case telemetryDisabled
    }

    package var cause: Cause
    /// Devices that get the setting.
    package var devices: Int
    /// Those of them that it concerns now, by what they last reported: they break the rule, are compromised, or, for
    /// `telemetryDisabled`, all.
    package var concerned: Int
}

/// Devices of an organization that are alike in what decides the consequences of a profile.
struct ConsequenceGroup: Hashable, Sendable {
    /// Empty for the agent itself.
    var application: String
    /// Empty if it is not known.
    var applicationVersion = ""
    /// Empty if it is not known.
    var systemVersion = ""
    var isCompromised = false
}

extension ProfileRisk.Cause {
    /// The causes that a changed profile has and the former one has not. Pure.
    package static func added(by profile: WireProfile, to former: WireProfile) -> [Self] {
        var causes: [Self] = []
        for rule in profile.compliance where VerdictConsequence(profile: rule.consequence) != .report {
            let isKnown = former.compliance.contains {
                $0.id == rule.id && $0.subject == rule.subject && $0.expectation == rule.expectation
                    && $0.consequence == rule.consequence
                    // The same words about another area are another rule.
                    && profile.geofence(of: rule) == former.geofence(of: $0)
            }
            if !isKnown { causes.append(.rule(rule)) }
        }
        let consequence = VerdictConsequence(profile: profile.detection.consequence)
        // Another detector may find a device compromised, too.
        if consequence != .report, profile.detection != former.detection { causes.append(.compromise(consequence)) }
        if profile.telemetryDisabled, !former.telemetryDisabled { causes.append(.telemetryDisabled) }
        return causes
    }

    func concerns(_ group: ConsequenceGroup) -> Bool {
        switch self {
        case .rule(let rule):
            switch ComplianceSubject(rawValue: rule.subject) {
            case .applicationVersion: rule.state(of: group.applicationVersion) == .nonCompliant
            case .operatingSystemVersion: rule.state(of: group.systemVersion) == .nonCompliant
            // The collector does not judge where a device is.
            case .location, nil: false
            }
        case .compromise: group.isCompromised
        case .telemetryDisabled: true
        }
    }
}

extension ProfileRisk {
    /// - Parameters:
    ///   - groups: devices, by group.
    ///   - former: what devices of an application get now.
    ///   - changed: what they would get.
    static func risks(
        _ groups: [ConsequenceGroup: Int], from former: (String) -> WireProfile, to changed: (String) -> WireProfile
    ) -> [ProfileRisk] {
        var (risks, causes) = ([ProfileRisk](), [String: [Cause]]())
        for (group, devices) in groups.sorted(by: { $0.key.application < $1.key.application }) {
            let application = group.application
            let added = causes[application] ?? Cause.added(by: changed(application), to: former(application))
            causes[application] = added
            for cause in added {
                let place = risks.firstIndex { $0.cause == cause } ?? risks.endIndex
                if place == risks.endIndex { risks.append(ProfileRisk(cause: cause, devices: 0, concerned: 0)) }
                risks[place].devices += devices
                if cause.concerns(group) { risks[place].concerned += devices }
            }
        }
        return risks
    }
}

extension MetadataService {
    /// Returns what a profile may do to the organization's devices that the newest one does not, once it is put.
    /// Changes nothing.
    /// - Parameter scope: whose profile it is.
    package nonisolated func risks(
        of profile: WireProfile, _ scope: ProfileScope
    ) async throws(StoreError) -> [ProfileRisk] {
        var (newest, cursor) = ([String: WireProfile](), UInt64?.none)
        repeat {
            let page = try await profileRevisions(
                organization: scope.organization, application: nil, isNewestOnly: true, below: cursor, limit: 1000)
            for row in page.rows { newest[row.scope.application] = row.profile }
            cursor = page.next
        } while cursor != nil
        let changed = newest.merging([scope.application: profile]) { $1 }
        await writeSeen()
        var groups = try await search.consequenceGroups(organization: scope.organization)
        if !scope.application.isEmpty { groups = groups.filter { $0.key.application == scope.application } }
        // A profile that no device gets yet has its risks, too.
        groups[ConsequenceGroup(application: scope.application), default: 0] += 0
        return ProfileRisk.risks(
            groups, from: { WireProfile.composed(of: newest, for: $0) },
            to: { WireProfile.composed(of: changed, for: $0) })
    }
}

extension WireProfile {
    /// - Parameter profiles: by application; under the empty name the organization's.
    fileprivate static func composed(of profiles: [String: WireProfile], for application: String) -> WireProfile {
        let organization = profiles[""] ?? WireProfile()
        guard !application.isEmpty, let own = profiles[application] else { return organization }
        return organization.overlaid(by: own)
    }
}
