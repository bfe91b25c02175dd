/// A certificate of the collector's own, and how soon it ends.
package struct WatchedCertificate: Equatable, Sendable {
    /// What it is for and where it lies: `tls-certificate /etc/ws1collector/certificate.pem`.
    package var name: String
    /// Hexadecimal. With the name it says which one it is: another one in the same file is another certificate.
    package var serial: String
    /// Microseconds since 1970.
    package var expires: Int64

    package init(name: String, serial: String, expires: Int64) {
        self.name = name
        self.serial = serial
        self.expires = expires
    }

    func threshold(at now: Int64) -> Int64? { ExpiryThreshold.days(until: expires, at: now) }

    func subject(_ threshold: Int64) -> String { "\(name), serial \(serial), \(threshold) days" }
}

/// When the end of something is told. Pure.
enum ExpiryThreshold {
    private static let dayMicroseconds: Int64 = 86_400 * 1_000_000
    /// Days before the end from which on it is told, each once; the last that is reached stands for those before it.
    private static let thresholds: [Int64] = [7, 30]

    /// The smallest threshold in days that is reached; `nil`: there is time.
    static func days(until expires: Int64, at now: Int64) -> Int64? {
        let (left, overflow) = expires.subtractingReportingOverflow(now)
        return overflow ? nil : thresholds.first { left <= $0 * dayMicroseconds }
    }
}
