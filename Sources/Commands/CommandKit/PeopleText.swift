/// A number of bytes for people: `1.3 MB`. Decimal, as the limits are.
package enum ByteText {
    package static func of(_ bytes: Int) -> String {
        guard bytes >= 1000 else { return "\(bytes) B" }
        var value = Double(bytes)
        var unit = ""
        for next in ["kB", "MB", "GB", "TB"] where value >= 1000 {
            value /= 1000
            unit = next
        }
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10) \(unit)"
    }
}

/// A length of time for people, in whole units: `90 s`, `15 min`.
package enum DurationText {
    package static func of(seconds: Double) -> String {
        let whole = Int(min(max(seconds, 0), 1e12))
        switch whole {
        case ..<120: return "\(whole) s"
        case ..<7200: return "\(whole / 60) min"
        case ..<172_800: return "\(whole / 3600) h"
        default: return "\(whole / 86_400) d"
        }
    }
}
