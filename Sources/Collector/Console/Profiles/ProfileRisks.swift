import CollectorAPI
import JSON
import WireModel

/// The risks of a profile's change for devices: it may wipe them, block their programs, or switch their telemetry off.
/// The review shows them, and a person types the number of devices before it is saved.
struct ProfileRisks {
    private let items: [ProfileRiskView]

    init(_ items: [ProfileRiskView]) { self.items = items }

    /// The number that a person types: the most devices that get one of the settings. `nil` if a click is enough.
    var typed: String? {
        let devices = items.map(\.devices).max() ?? 0
        return devices > 0 ? "\(devices)" : nil
    }

    /// The values for the template `profile-risks`.
    var values: JSONValue {
        .array(
            items.map { risk in
                [
                    "title": .text(Self.title(risk)), "detail": .text(risk.detail),
                    "now": JSONValue(Self.now(risk)),
                ]
            })
    }

    /// - Throws: `Problem` unless the form has the number that is asked for.
    func requireTyped(in form: FormFields) throws(Problem) {
        if let typed { try Question.requireTyped(typed, in: form) }
    }

    private static func title(_ risk: ProfileRiskView) -> String {
        let devices = DisplayText.counted(risk.devices, "device")
        return switch risk.effect {
        case .wipe: "This may wipe \(devices)."
        case .block: "This may block the program of \(devices)."
        case .telemetryOff: "This switches the telemetry of \(devices) off."
        }
    }

    /// How many devices it concerns now; `nil` for all of them.
    private static func now(_ risk: ProfileRiskView) -> String? {
        guard risk.effect != .telemetryOff else { return nil }
        let count = DisplayText.count(Double(risk.devicesNow))
        let what = risk.rule == nil ? "compromised" : "breaking the rule"
        return "By what devices last told, \(count) of \(DisplayText.counted(risk.devices, "device")) "
            + (risk.devicesNow == 1 ? "is \(what) now." : "are \(what) now.")
    }
}
