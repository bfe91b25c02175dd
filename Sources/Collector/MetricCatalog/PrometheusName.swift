/// The name of a metric in Prometheus, as OpenTelemetry's rules convert it.
///
/// The rules are those of "Prometheus and OpenMetrics Compatibility" in OpenTelemetry's specification: characters that
/// Prometheus does not know become `_`, the unit is written out and added (`By` gives `_bytes`), a counter ends in
/// `_total`, and a gauge of unit `1` in `_ratio`. Pure.
package struct PrometheusName: Hashable, Sendable {
    package enum Kind: String, Sendable {
        case counter
        case gauge
        case histogram
        case summary
    }

    /// The name of the metric's family in OpenMetrics: without `_total`.
    package let family: String
    package let kind: Kind
    /// The unit, if the family's name ends with it, as OpenMetrics requires of a unit; `nil` otherwise.
    package let unit: String?

    /// The name of each sample of a counter or a gauge.
    package var sample: String { kind == .counter ? "\(family)_total" : family }

    /// All names that the family takes: its own, and those of its samples.
    package var taken: Set<String> {
        switch kind {
        case .counter, .gauge: [family, sample]
        case .histogram: [family, "\(family)_bucket", "\(family)_sum", "\(family)_count"]
        case .summary: [family, "\(family)_sum", "\(family)_count"]
        }
    }

    /// `nil` for the increase since the previous sample, as a number or as a histogram. Prometheus keeps totals, and
    /// one increase that it does not scrape would be missing in all sums.
    package init?(_ definition: MetricDefinition) {
        switch definition.kind {
        case .gauge, .upDownCounter: kind = .gauge
        case .cumulativeCounter: kind = .counter
        case .cumulativeHistogram: kind = .histogram
        case .summary: kind = .summary
        case .deltaCounter, .deltaHistogram: return nil
        }
        var words = Self.words(of: definition.name)
        let unit = Self.unit(definition.unit)
        if !unit.isEmpty, !Self.contains(words, unit) { words += unit }
        if kind == .counter {
            words.removeAll { $0 == "total" }
        } else if definition.unit == "1", definition.kind == .gauge {
            words.removeAll { $0 == "ratio" }
            words.append("ratio")
        }
        // A name of `total` alone.
        if words.isEmpty { words = ["metric"] }
        let name = words.joined(separator: "_")
        family = name.first?.isNumber == true ? "_\(name)" : name
        let suffix = definition.unit == "1" && words.last == "ratio" ? ["ratio"] : unit
        self.unit =
            !suffix.isEmpty && words.count > suffix.count && words.suffix(suffix.count) == suffix[...]
            ? suffix.joined(separator: "_") : nil
    }

    /// The name of a label for an attribute: `cpu.mode` is `cpu_mode`.
    package static func label(_ attribute: String) -> String {
        let name = words(of: attribute).joined(separator: "_")
        if name.isEmpty { return "attribute" }
        // Prometheus keeps names that begin with two underscores for itself.
        return name.first?.isNumber == true ? "key_\(name)" : name
    }

    /// The letters and digits of ASCII between all other characters.
    private static func words(of name: String) -> [String] {
        name.utf8.split { !isWordCharacter($0) }.map { String(decoding: $0, as: UTF8.self) }
    }

    private static func isWordCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }

    private static func contains(_ words: [String], _ unit: [String]) -> Bool {
        guard words.count >= unit.count else { return false }
        return (0...words.count - unit.count).contains { words[$0..<$0 + unit.count] == unit[...] }
    }

    /// The words of a unit of UCUM: `By/s` is `bytes per second`. Remarks in braces are no unit, and `1` is none.
    private static func unit(_ unit: String) -> [String] {
        var bare = ""
        var depth = 0
        for character in unit {
            switch character {
            case "{": depth += 1
            case "}": depth = max(0, depth - 1)
            default: if depth == 0 { bare.append(character) }
            }
        }
        let sides = bare.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let first = sides.first else { return [] }
        let main = first == "1" ? [] : Self.units[first].map { [$0] } ?? words(of: first)
        guard sides.count == 2, !sides[1].isEmpty else { return main }
        return main + ["per"] + (Self.unitsOfRates[sides[1]].map { [$0] } ?? words(of: sides[1]))
    }

    /// The last two are not in the list of OpenTelemetry's own translators; the specification asks for full words.
    private static let units = [
        "d": "days", "h": "hours", "min": "minutes", "s": "seconds", "ms": "milliseconds", "us": "microseconds",
        "ns": "nanoseconds", "By": "bytes", "KiBy": "kibibytes", "MiBy": "mebibytes", "GiBy": "gibibytes",
        "TiBy": "tebibytes", "KBy": "kilobytes", "MBy": "megabytes", "GBy": "gigabytes", "TBy": "terabytes",
        "m": "meters", "V": "volts", "A": "amperes", "J": "joules", "W": "watts", "g": "grams", "Cel": "celsius",
        "Hz": "hertz", "%": "percent", "deg": "degrees", "dB": "decibels",
    ]

    private static let unitsOfRates = [
        "s": "second", "m": "minute", "min": "minute", "h": "hour", "d": "day", "w": "week", "mo": "month", "y": "year",
    ]
}
