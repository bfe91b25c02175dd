import FoundationEssentials
import WireModel

/// A device is compromised or does not comply, from the first beacon that says so until its cause is gone. Pure.
///
///     (none) ── bad ──► lasting ── bad: other signs are added ──► lasting
///                          │
///                          └── every sign that was bad is good, or is not examined any more ──► (none)
///
/// A verdict that becomes unknown ends nothing, because it says that somebody could not look. An incident gets at most
/// one wipe. It is kept on disk from its first beacon until it ends, and the wipe is issued in the transaction that
/// records it. So neither a further beacon nor a restart issues a second one.
package struct VerdictIncident: Equatable {
    package enum Kind: String, CaseIterable, Sendable {
        case compromised
        case nonCompliant = "non-compliant"

        package var notice: NoticeRow.Code {
            switch self {
            case .compromised: .deviceCompromised
            case .nonCompliant: .deviceNonCompliant
            }
        }
    }

    enum Wipe: Equatable {
        case none
        /// The id of the command.
        case issued(Data)
        /// None is issued: one may have been issued that this collector does not know, or whose end it does not know.
        case withheld
    }

    /// The detectors or rules that were bad in it, by name. Empty for an incident that may be under way, as far as a
    /// restored collector knows: it ends with a good verdict only.
    var signs: [String]
    var wipe = Wipe.none

    static let maximumSigns = 64

    /// A name as it is kept: short, and in one line.
    static func sign(_ name: String) -> String {
        String(name.map { $0.isNewline ? " " : $0 }).cut(toBytes: 64)
    }

    /// The incident after a further reading; `nil` for none.
    package static func next(_ open: VerdictIncident?, _ reading: VerdictReading) -> VerdictIncident? {
        guard reading.isBad else {
            guard let open, !reading.isGood else { return nil }
            return open.signs.isEmpty || !reading.unclear.isDisjoint(with: open.signs) ? open : nil
        }
        var incident = open ?? VerdictIncident(signs: [])
        let signs = Set(incident.signs).union(reading.bad)
        incident.signs = Array(signs.sorted().prefix(maximumSigns))
        return incident
    }
}

/// The reading of a beacon for one kind of incident.
package struct VerdictReading: Equatable {
    var isBad: Bool
    var isGood: Bool
    /// Names of the signs or rules that are bad.
    let bad: Set<String>
    /// Names of those that could not be judged.
    let unclear: Set<String>

    init(isBad: Bool, isGood: Bool, bad: Set<String>, unclear: Set<String>) {
        self.isBad = isBad
        self.isGood = isGood
        self.bad = Set(bad.map(VerdictIncident.sign))
        self.unclear = Set(unclear.map(VerdictIncident.sign))
    }
}

extension DeviceVerdicts {
    /// - Returns: `nil` if the device had no profile yet. What it looks for is decided by one.
    package func reading(_ kind: VerdictIncident.Kind) -> VerdictReading? {
        guard beacon.profileRevision > 0 else { return nil }
        switch kind {
        case .compromised:
            let bad = Set(beacon.findings.filter { $0.verdict == .yes }.map(\.detector))
            return VerdictReading(
                isBad: beacon.compromised == .yes, isGood: beacon.compromised == .no,
                bad: bad.isEmpty ? ["unnamed"] : bad,
                unclear: Set(beacon.findings.filter { $0.verdict != .yes && $0.verdict != .no }.map(\.detector)))
        case .nonCompliant:
            let bad = Set(beacon.rules.filter { $0.state == .nonCompliant }.map(\.rule))
            let unclear = beacon.rules.filter { $0.state != .compliant && $0.state != .nonCompliant }.map(\.rule)
            let isBad = [beacon.deviceCompliance, beacon.applicationCompliance].contains(.nonCompliant)
            return VerdictReading(
                isBad: isBad, isGood: !isBad && bad.isEmpty && unclear.isEmpty, bad: bad.isEmpty ? ["unnamed"] : bad,
                unclear: Set(unclear))
        }
    }

    /// Whether a profile asks for a wipe because of what is bad. What the device judged by a former revision of the
    /// profile wipes nothing: detection may have been relaxed since, and a rule counts only as the profile has it now.
    /// The device reports its verdict again as soon as it has the new revision.
    func isWipeAsked(by profile: WireProfile, for kind: VerdictIncident.Kind) -> Bool {
        switch kind {
        case .compromised:
            return beacon.profileRevision == profile.revision
                && VerdictConsequence(profile: profile.detection.consequence) == .wipe
        case .nonCompliant:
            return beacon.rules.contains { result in
                result.state == .nonCompliant
                    && profile.compliance.contains {
                        $0.id == result.rule && $0.expectation == result.expected
                            && VerdictConsequence(profile: $0.consequence) == .wipe
                            // The geofence may have been another area in a former revision.
                            && (!$0.isOfLocation || beacon.profileRevision == profile.revision)
                    }
            }
        }
    }
}
