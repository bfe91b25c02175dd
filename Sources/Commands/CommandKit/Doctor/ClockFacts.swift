import Glibc
import TelemetryBasics

/// What this machine itself knows of its wall clock.
package enum ClockFacts {
    /// When the running program's file was written, microseconds since 1970: a clock that is right is later. `nil` if
    /// unknown.
    package static var programBuilt: Int64? {
        var status = stat()
        guard stat("/proc/self/exe", &status) == 0 else { return nil }
        return Int64(status.st_mtim.tv_sec) * 1_000_000
    }

    /// - Parameters:
    ///   - now: the wall clock, microseconds since 1970.
    ///   - offsetSeconds: the other side's clock minus this one's; `nil` if nobody answered.
    ///   - other: who answered, such as "the collector".
    package static func check(
        _ name: String, now: Int64, programBuilt: Int64?, offsetSeconds: Double?, other: String
    ) -> DoctorCheck {
        let remedy = "timedatectl set-ntp true; then `timedatectl status` must say that the clock is synchronized"
        let time = Timestamp.text(now)
        if let programBuilt, now < programBuilt {
            return .broken(
                name, "it is \(time) here, before this program was built (\(Timestamp.text(programBuilt)))",
                remedy: remedy)
        }
        if let offsetSeconds {
            let distance = DurationText.of(seconds: abs(offsetSeconds))
            let found = "it is \(time) here, \(distance) \(offsetSeconds > 0 ? "behind" : "ahead of") \(other)"
            if abs(offsetSeconds) >= brokenSeconds { return .broken(name, found, remedy: remedy) }
            if abs(offsetSeconds) >= warningSeconds { return .warning(name, found, remedy: remedy) }
            return .ok(name, "within \(DurationText.of(seconds: warningSeconds)) of \(other)")
        }
        return .ok(name, "it is \(time) here; nobody else was heard")
    }

    /// Certificates and enrollment files of ordinary length begin to fail.
    private static let brokenSeconds = 86_400.0
    /// Times of records mislead a reader.
    private static let warningSeconds = 60.0
}
