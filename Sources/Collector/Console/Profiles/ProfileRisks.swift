import JSON

/// The risks of a profile's change for devices: it may wipe them, block their programs, or switch their telemetry off.
/// The review shows them, and a person types the number of devices before it is saved.
struct ProfileRisks {
    /// The risks as the API lists them.
    private let items: [JSONValue]

    /// - Parameter check: the answer to a profile that was tried out.
    init(_ check: JSONValue) { items = check["risks"].items }

    /// The number that a person types: the most devices that get one of the settings. `nil` if a click is enough.
    var typed: String? {
        let devices = items.compactMap { $0["devices"].integer }.max() ?? 0
        return devices > 0 ? "\(devices)" : nil
    }

    /// The values for the template `profile-risks`.
    var values: JSONValue {
        .array(
            items.map { risk in
                [
                    "title": .text(Self.title(risk)), "detail": risk["detail"],
                    "now": JSONValue(Self.now(risk)),
                ]
            })
    }

    /// - Throws: `APIProblem` unless the form has the number that is asked for.
    func requireTyped(in form: FormFields) throws(APIProblem) {
        if let typed { try Question.requireTyped(typed, in: form) }
    }

    private static func title(_ risk: JSONValue) -> String {
        let devices = DisplayText.devices(risk["devices"])
        return switch risk["effect"].text {
        case "wipe": "This may wipe \(devices)."
        case "block": "This may block the program of \(devices)."
        case "telemetry-off": "This switches the telemetry of \(devices) off."
        case let other: "\(other ?? "A risk") for \(devices)."
        }
    }

    /// How many devices it concerns now; `nil` for all of them.
    private static func now(_ risk: JSONValue) -> String? {
        guard risk["effect"].text != "telemetry-off" else { return nil }
        let count = DisplayText.count(risk["devicesNow"].number ?? 0)
        let what = risk["rule"] == .null ? "compromised" : "breaking the rule"
        return "By what devices last told, \(count) of \(DisplayText.devices(risk["devices"])) "
            + (risk["devicesNow"].integer == 1 ? "is \(what) now." : "are \(what) now.")
    }
}
