import FoundationEssentials
import Logging
import RecordQueue
import Synchronization
import WireModel

/// The device's client certificate: shown on connections, renewed before it ends.
extension Transmitter {
    /// Largest chain that is kept; a few certificates have well under 8 KiB.
    private static let certificateBytes = 16 * 1024

    /// As the collector's clock has it, where that is known.
    var collectorTime: Int64 { clock.now().wallTime &+ (published.withLock { $0.clockOffset } ?? 0) }

    /// Connections show from now on what the enrollment in force has. What cannot be shown is said, and its want is the
    /// collector's to judge.
    /// - Parameter isRetry: whether it was found to be of no use before.
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

    /// Why the transport cannot show it; what was shown is shown on then. `nil`: it can, and does.
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

    /// A request has failed in its handshake.
    func handshakeFailed() {
        guard certificate.handshakeFailed() else { return }
        if certificate.isShown { placeCertificate() } else { withholdCertificate() }
    }

    private func withholdCertificate() {
        // Showing none cannot fail.
        _ = try? transport.show(certificate: nil)
    }

    /// As it is configured; `nil` where none is, or where it cannot be read, which is said.
    func signingRequest() -> Data? {
        do { return try enrollments.signingRequest() } catch {
            certificateProblem("\(error)")
            return nil
        }
    }

    /// Asks for a certificate with a new credential where one is due.
    /// - Returns: whether the collector was asked.
    func renewCertificateIfDue() async -> Bool {
        // A key that was put back is found without a restart.
        if certificate.phase == .none, enrollment?.certificate.isEmpty == false { placeCertificate(isRetry: true) }
        guard certificate.isRequestDue(at: collectorTime, now: clock.now().timeSinceBoot),
            let request = signingRequest()
        else {
            return false
        }
        switch await rotate(signing: request) {
        case .success: break
        case let answer:
            certificate.failed(now: clock.now().timeSinceBoot)
            certificateProblem("another client certificate was asked for in vain: \(answer)")
        }
        return true
    }

    /// Asks for a new credential where the one in use is as old as it may become.
    /// - Returns: whether the collector was asked.
    func renewCredentialIfDue() async -> Bool {
        guard var current = enrollment, let lifetime = settings.credentialLifetime else { return false }
        // A device without a clock of its own begins in 1970 at every start: only the collector's clock says how old
        // something is.
        guard published.withLock({ $0.clockOffset }) != nil else { return false }
        let (wallTime, now) = (collectorTime, clock.now().timeSinceBoot)
        switch credentialRenewal.step(current, lifetime: lifetime, at: wallTime, now: now) {
        case .wait: return false
        case .beginCounting:
            current.credentialSince = wallTime
            enrollment = current
            // On disk with the next change at the latest; until then each start begins to count anew.
            do { try enrollments.save(current) } catch {
                logger.warning("the age of the credential could not be kept", metadata: ["error": "\(error)"])
            }
            return false
        case .renew: break
        }
        let answer = await rotate(signing: nil)
        guard case .success = answer else {
            credentialRenewal.failed(now: clock.now().timeSinceBoot)
            logger.warning(
                "a new credential was asked for in vain; the present one stays in use",
                metadata: ["reason": "\(answer)"])
            return true
        }
        return true
    }

    /// The collector was asked for a certificate and has answered.
    /// - Parameter chain: as it came; empty: none was given.
    /// - Returns: what is to be kept of it; empty: nothing.
    func granted(certificate chain: Data) -> String {
        let isGiven = !chain.isEmpty && chain.count <= Self.certificateBytes
        certificate.asked(isGiven ? .granted : .notIssued, now: clock.now().timeSinceBoot)
        if !isGiven { logger.notice("no client certificate was given", metadata: ["bytes": "\(chain.count)"]) }
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
