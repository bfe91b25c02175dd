import CollectorAPI
import Logging
import RecordStore
import Synchronization
import TelemetryBasics
import WireModel

/// Raises a notice 30 days before one of the collector's certificates expires, and another at 7 days. Each is raised
/// once per certificate, also across restarts, and ends when another certificate replaces it.
package final class CertificateWatch: Sendable {
    private let certificates: @Sendable () -> [WatchedCertificate]
    private let notices: NoticeService
    private let clock: any StoreClock
    private let reported = Mutex<[String: String]?>(nil)

    /// - Parameter certificates: returns the certificates in use.
    package init(
        notices: NoticeService, clock: any StoreClock, certificates: @escaping @Sendable () -> [WatchedCertificate]
    ) {
        self.certificates = certificates
        self.notices = notices
        self.clock = clock
    }

    package func look() async {
        let now = clock.now()
        var present: [String: String] = [:]
        for certificate in certificates() {
            guard let threshold = certificate.threshold(at: now) else { continue }
            present[certificate.subject(threshold)] =
                """
                \(certificate.name) expires at \(Timestamp.text(certificate.expires)), in less than \(threshold) days. \
                Replace it; after that, connections fail.
                """
        }
        guard reported.withLock({ $0 != present }) else { return }
        if await notices.settle(.certificateExpiry, present) { reported.withLock { $0 = present } }
    }
}

/// A certificate of the collector, and when it expires.
package struct WatchedCertificate: Equatable, Sendable {
    /// Its purpose and path: `tls-certificate /etc/ws1collector/certificate.pem`.
    package var name: String
    /// The serial number in hexadecimal. Name and serial together identify the certificate, so a new one in the same
    /// file is another.
    package var serial: String
    /// Microseconds since 1970.
    package var expires: Int64

    package init(name: String, serial: String, expires: Int64) {
        self.name = name
        self.serial = serial
        self.expires = expires
    }

    func threshold(at now: Int64) -> Int64? { ExpiryThreshold.days(until: expires, at: now) }

    package func subject(_ threshold: Int64) -> String { "\(name), serial \(serial), \(threshold) days" }
}

/// The days before the end at which a token or certificate is reported. Pure.
enum ExpiryThreshold {
    /// The thresholds in days, ascending. Each is reported once; the smallest reached threshold stands for the larger
    /// ones.
    private static let thresholds: [Int64] = [7, 30]

    /// The smallest reached threshold in days; `nil` if none is reached.
    static func days(until expires: Int64, at now: Int64) -> Int64? {
        let (left, overflow) = expires.subtractingReportingOverflow(now)
        return overflow ? nil : thresholds.first { left <= $0 * CivilDate.microsecondsPerDay }
    }
}

/// Raises a notice 30 days before the last administrator's token expires, and another at 7 days. Tokens for all
/// organizations are one group; those of each organization are another. Both notices end when a token with a longer
/// lifetime was made.
package final class TokenWatch: Sendable {
    private let place: String
    private let tokens: @Sendable () async throws -> [TokenRow]
    private let notices: NoticeService
    private let clock: any StoreClock
    private let logger: Logger
    private let reported = Mutex<[String: String]?>(nil)

    /// - Parameters:
    ///   - place: the flag with which a command finds the data, such as `--data DIR`.
    ///   - tokens: returns all tokens, including revoked ones.
    package init(
        place: String, notices: NoticeService, clock: any StoreClock, logger: Logger,
        tokens: @escaping @Sendable () async throws -> [TokenRow]
    ) {
        self.place = place
        self.tokens = tokens
        self.notices = notices
        self.clock = clock
        self.logger = logger
    }

    package func look() async {
        let present: [String: String]
        do { present = Self.ending(try await tokens(), place: place, at: clock.now()) } catch {
            logger.warning("the expiry of tokens could not be checked", metadata: ["error": "\(error)"])
            return
        }
        guard reported.withLock({ $0 != present }) else { return }
        if await notices.settle(.tokenExpiry, present) { reported.withLock { $0 = present } }
    }

    /// Subjects and details to report. Pure.
    static func ending(_ tokens: [TokenRow], place data: String, at now: Int64) -> [String: String] {
        let administrators = tokens.filter { $0.kind == .person && $0.role == .administrator && $0.revoked == nil }
        var ending: [String: String] = [:]
        for (organization, tokens) in Dictionary(grouping: administrators, by: \.organization) {
            // A token without an end is always the last.
            guard let last = tokens.max(by: { $0.expires ?? .max < $1.expires ?? .max }), let expires = last.expires,
                let threshold = ExpiryThreshold.days(until: expires, at: now)
            else { continue }
            let place = organization.map { " --organization \($0)" } ?? ""
            ending["administrator's token \(last.name) (\(last.id)), \(threshold) days"] =
                """
                The last administrator's token of \(organization ?? "all organizations"), \(last.name) (\(last.id)), \
                expires at \(Timestamp.text(expires)), in less than \(threshold) days. Create the next one on the \
                collector's machine: ws1collector token create --role administrator --name \(last.name)\(place) \
                --expires 365d \(data)
                """
        }
        return ending
    }
}
