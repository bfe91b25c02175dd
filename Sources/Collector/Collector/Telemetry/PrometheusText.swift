/// Prometheus' text format, version 0.0.4 (https://prometheus.io/docs/instrumenting/exposition_formats/).
struct PrometheusText {
    static let mediaType = "text/plain; version=0.0.4; charset=utf-8"

    private(set) var text = ""

    /// What follows is of this name.
    mutating func begin(_ name: String, type: String, help: String?) {
        if let help { text += "# HELP \(name) \(help.replacing("\\", with: "\\\\").replacing("\n", with: "\\n"))\n" }
        text += "# TYPE \(name) \(type)\n"
    }

    mutating func add(_ name: String, _ labels: [(String, String)], _ value: Double) {
        text += name
        if !labels.isEmpty {
            text += "{"
            for (position, (name, value)) in labels.enumerated() { text += "\(position == 0 ? "" : ",")\(name)=\"\(Self.escaped(value))\"" }
            text += "}"
        }
        text += " \(Self.number(value))\n"
    }

    private static func escaped(_ value: String) -> String {
        value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }

    /// Whole numbers without a point, as far as that is exact.
    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        if let whole = Int64(exactly: value), whole.magnitude <= 1 << 53 { return String(whole) }
        return "\(value)"
    }
}
