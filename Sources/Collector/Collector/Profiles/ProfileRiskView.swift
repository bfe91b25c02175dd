import CollectorAPI
import Registry
import WireModel

extension ProfileRiskView {
    init(_ risk: ProfileRisk) {
        switch risk.cause {
        case .rule(let rule):
            let asks = VerdictConsequence(profile: rule.consequence)
            self.init(asks == .wipe ? .wipe : .block)
            self.rule = rule.id
            let subject = rule.isOfLocation ? "device" : rule.subject.replacing("-", with: " ")
            let expectation = rule.isOfLocation ? "\(rule.`operator`) the geofence \(rule.geofence)" : rule.expectation
            detail =
                "The rule \(rule.id) expects the \(subject) to be \(expectation). A device that breaks it is "
                + Self.consequence(asks)
            if rule.isOfLocation { detail += " Which devices break it now is only known once they have judged it." }
        case .compromise(let asks):
            self.init(asks == .wipe ? .wipe : .block)
            detail = "A device that is found to be compromised is " + Self.consequence(asks)
        case .telemetryDisabled:
            self.init(.telemetryOff)
            detail = "Devices sample, record and send nothing any more until a profile says otherwise."
        }
        (devices, devicesNow) = (risk.devices, risk.concerned)
    }

    private static func consequence(_ asks: VerdictConsequence) -> String {
        switch asks {
        case .wipe: "wiped: it erases its records, logs and kept state. This cannot be undone."
        case .block, .report: "blocked: its program is told to keep people out."
        }
    }
}
