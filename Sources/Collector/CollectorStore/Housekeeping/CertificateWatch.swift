import Synchronization
import WireModel

/// Raises a notice 30 days before a certificate of the collector's own ends, and another at 7 days: once for each certificate, also over
/// restarts. Both are over when another certificate is in its place.
package final class CertificateWatch: Sendable {
    private let certificates: @Sendable () -> [WatchedCertificate]
    private let notices: NoticeService
    private let clock: any StoreClock
    private let told = Mutex<[String: String]?>(nil)

    /// - Parameter certificates: those in use now.
    package init(notices: NoticeService, clock: any StoreClock, certificates: @escaping @Sendable () -> [WatchedCertificate]) {
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
                "\(certificate.name) ends at \(LogTime.text(certificate.expires)): less than \(threshold) days are left. "
                + "Put a new one in its place; who connects after its end is not served."
        }
        let isNews = told.withLock { told in
            defer { told = present }
            return told != present
        }
        if isNews { await notices.settle(.certificateExpiry, present) }
    }
}
