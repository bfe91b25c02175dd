import CollectorStore
import WireModel

/// The effects that a change of a profile may have on devices, in words and numbers.
struct ProfileRiskView: Encodable {
    enum Effect: String, Encodable {
        case wipe
        case block
        case telemetryOff = "telemetry-off"
    }

    var effect: Effect
    /// The compliance rule behind it; absent if there is none.
    var rule: String?
    /// Devices that get the setting.
    var devices: Int
    /// Those of them that it concerns now.
    var devicesNow: Int
    /// One or two sentences for the person who confirms it.
    var detail: String

    init(_ risk: ProfileRisk) {
        (devices, devicesNow) = (risk.devices, risk.concerned)
        switch risk.cause {
        case .rule(let rule):
            self.rule = rule.id
            let asks = VerdictConsequence(profile: rule.consequence)
            effect = asks == .wipe ? .wipe : .block
            let subject = rule.subject.replacing("-", with: " ")
            detail =
                "The rule \(rule.id) expects the \(subject) to be \(rule.expectation). A device that breaks it is "
                + Self.consequence(asks)
        case .compromise(let asks):
            effect = asks == .wipe ? .wipe : .block
            detail = "A device that is found to be compromised is " + Self.consequence(asks)
        case .telemetryDisabled:
            effect = .telemetryOff
            detail = "Devices sample, record and send nothing any more until a profile says otherwise."
        }
    }

    private static func consequence(_ asks: VerdictConsequence) -> String {
        switch asks {
        case .wipe: "wiped: it erases its records, logs and kept state. This cannot be undone."
        case .block, .report: "blocked: its program is told to keep people out."
        }
    }
}
