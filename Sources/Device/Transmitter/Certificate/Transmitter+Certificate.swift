import FoundationEssentials
import Logging
import RecordQueue
import Synchronization
import WireModel

/// The device's client certificate: it is shown on connections and renewed before it ends.
extension Transmitter {
    /// The longest stored chain. A few certificates have well under 8 KiB.
    private static let certificateBytes = 16 * 1024

    /// The time by the collector's clock if it is known, else by the device's.
    var collectorTime: Int64 { clock.now().wallTime &+ (published.withLock { $0.clockOffset } ?? 0) }

    /// Shows the enrollment's certificate on connections from now on. If it cannot be shown, this is logged, and the
    /// collector decides whether to accept the device without it.
    /// - Parameter isRetry: whether the certificate was unusable before.
    func placeCertificate(isRetry: Bool = false) {
        let chain = enrollment?.certificate ?? ""
        var life: CertificateLife?
        do throws(TransportError) {
            life = try transport.show(certificate: chain.isEmpty ? nil : chain)
            if life != nil { certificateProblem(nil) }
        } catch {
            certificateProblem(error.message)
            if !isRetry { certificate.wasOfNoUse(now: clock.now().timeSinceBoot) }
        }
        certificate.placed(life)
        published.withLock { $0.certificateEnds = life?.ends }
    }

    /// Why the transport cannot show this chain; the former one then stays. `nil` if it can, and now does.
    func objection(to chain: String) -> String? {
        do throws(TransportError) {
            _ = try transport.show(certificate: chain)
            return nil
        } catch {
            placeCertificate()
            certificate.wasOfNoUse(now: clock.now().timeSinceBoot)
            return error.message
        }
    }

    /// A request failed in its handshake.
    func handshakeFailed() {
        guard certificate.handshakeFailed() else { return }
        guard certificate.isShown else {
            // Showing none cannot fail.
            _ = try? transport.show(certificate: nil)
            return
        }
        placeCertificate()
    }

    /// The configured signing request; `nil` if none is configured, or if it cannot be read, which is logged.
    func signingRequest() -> Data? {
        do { return try enrollments.signingRequest() } catch {
            certificateProblem("\(error)")
            return nil
        }
    }

    /// Requests a certificate together with a new credential, if one is due.
    /// - Returns: whether the collector was asked.
    func renewCertificateIfDue() async -> Bool {
        // Notices a restored key file without a restart.
        if certificate.phase == .none, enrollment?.certificate.isEmpty == false { placeCertificate(isRetry: true) }
        guard certificate.isRequestDue(at: collectorTime, now: clock.now().timeSinceBoot),
            let request = signingRequest()
        else { return false }
        let answer = await rotate(signing: request)
        if case .success = answer { return true }
        certificate.failed(now: clock.now().timeSinceBoot)
        certificateProblem("a new client certificate was requested without success: \(answer)")
        return true
    }

    /// Requests a new credential if the present one has reached its greatest age.
    /// - Returns: whether the collector was asked.
    func renewCredentialIfDue() async -> Bool {
        guard var current = enrollment, let lifetime = settings.credentialLifetime else { return false }
        // A device without a battery-backed clock starts in 1970 every time, so only the collector's clock shows ages.
        guard published.withLock({ $0.clockOffset }) != nil else { return false }
        let (wallTime, now) = (collectorTime, clock.now().timeSinceBoot)
        switch credentialRenewal.step(current, lifetime: lifetime, at: wallTime, now: now) {
        case .wait: return false
        case .beginCounting:
            current.credentialSince = wallTime
            enrollment = current
            // The next change saves it. Until then each start begins to count again.
            do { try enrollments.save(current) } catch {
                logger.warning("the age of the credential could not be stored", metadata: ["error": "\(error)"])
            }
            return false
        case .renew: break
        }
        let answer = await rotate(signing: nil)
        if case .success = answer { return true }
        credentialRenewal.failed(now: clock.now().timeSinceBoot)
        logger.warning(
            "a new credential was requested without success; the present one stays in use",
            metadata: ["reason": "\(answer)"])
        return true
    }

    /// The collector answered a request for a certificate.
    /// - Parameter chain: as received; empty if none was issued.
    /// - Returns: the chain to keep; empty for none.
    func granted(certificate chain: Data) -> String {
        let isGiven = !chain.isEmpty && chain.count <= Self.certificateBytes
        certificate.asked(isGiven ? .granted : .notIssued, now: clock.now().timeSinceBoot)
        if !isGiven { logger.notice("the collector gave no client certificate", metadata: ["bytes": "\(chain.count)"]) }
        return isGiven ? String(decoding: chain, as: UTF8.self) : ""
    }

    private func certificateProblem(_ why: String?) {
        let isNews = published.withLock { status in
            defer { status.certificateProblem = why }
            return status.certificateProblem != why
        }
        if isNews, let why { logger.error("client certificate", metadata: ["reason": "\(why)"]) }
    }
}
