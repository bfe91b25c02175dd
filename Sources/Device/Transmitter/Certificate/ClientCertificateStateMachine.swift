import DeviceTunables
import WireModel

/// Decides whether the device shows its client certificate, and when it asks for another. Pure. Wall times are
/// microseconds since 1970, by the collector's clock if known. Boot times are microseconds since boot.
///
/// A collector that does not accept a certificate breaks off the handshake without a usable reason. So after a failed
/// handshake, the next request goes without the certificate. If that is answered, the certificate is to blame; if it
/// fails too, the certificate is not.
struct ClientCertificateStateMachine: Sendable {
    enum Phase: Equatable, Sendable {
        /// There is no usable certificate. -> shown
        case none
        /// The certificate is shown on every connection. -> withheld, none
        case shown(CertificateLife)
        /// A handshake with it failed, so the next request goes without. -> shown, refused
        case withheld(CertificateLife)
        /// The collector answers only without it, so another is requested. -> shown
        case refused
    }

    enum Outcome: Equatable, Sendable {
        case granted
        /// The collector answered that it issues none.
        case notIssued
    }

    private static let hour: UInt64 = 3600 * 1_000_000
    private static let day: UInt64 = 24 * hour

    private(set) var phase = Phase.none
    /// The earliest time of the next request, since boot.
    private var nextRequest: UInt64 = 0

    /// The transport accepted the enrollment's certificate; `nil` if the enrollment has none, or none that can be used.
    ///
    /// It is shown even if it is expired by the device's clock. That clock may be wrong, so the collector decides.
    mutating func placed(_ life: CertificateLife?) { phase = life.map { .shown($0) } ?? .none }

    mutating func failed(now: UInt64) { nextRequest = max(nextRequest, now &+ Self.hour) }

    /// The new certificate cannot be used, for instance because it belongs to another key. Asking again at once would
    /// not help.
    mutating func wasOfNoUse(now: UInt64) { if nextRequest > now { asked(.notIssued, now: now) } }

    var isShown: Bool { if case .shown = phase { true } else { false } }

    /// - Returns: whether connections now show something else.
    mutating func handshakeFailed() -> Bool {
        switch phase {
        case .shown(let life): phase = .withheld(life)
        case .withheld(let life): phase = .shown(life)
        case .none, .refused: return false
        }
        return true
    }

    /// The collector answered, with any status.
    mutating func answered() { if case .withheld = phase { phase = .refused } }

    func isRequestDue(at wallTime: Int64, now: UInt64) -> Bool {
        guard now >= nextRequest else { return false }
        return switch phase {
        case .none, .refused: true
        case .shown(let life): wallTime >= life.renewal
        case .withheld: false
        }
    }

    /// The collector answered the request for a certificate. The next request is at least an hour away, and a day if
    /// none is issued.
    mutating func asked(_ outcome: Outcome, now: UInt64) {
        nextRequest = now &+ (outcome == .notIssued ? Self.day : Self.hour)
    }
}

/// Decides when a device requests a new credential by itself. A secret that somebody read from a disk or a backup
/// thereby becomes useless after a time. Pure.
///
/// Ages are measured with the collector's clock, so nothing is decided before its first answer. If that clock jumps
/// forward, a renewal comes too early. If it jumps back, counting starts again. Either way the device can still speak,
/// because the former credential is valid until the new one was used.
struct CredentialRenewal: Equatable, Sendable {
    enum Step: Equatable, Sendable {
        case wait
        /// The credential's age is unknown. Counting starts now.
        case beginCounting
        case renew
    }

    /// Devices that were enrolled on the same day must not renew on the same day. Each device renews earlier by its own
    /// share of the last tenth.
    private static let spread = 10

    /// The start of validity in microseconds since boot.
    private var notBefore: UInt64 = 0

    /// - Parameters:
    ///   - wallTime: microseconds since 1970, by the collector's clock.
    ///   - now: microseconds since boot.
    func step(_ enrollment: Enrollment, lifetime: Duration, at wallTime: Int64, now: UInt64) -> Step {
        guard let since = enrollment.credentialSince, since <= wallTime else { return .beginCounting }
        let age = wallTime.subtractingSaturating(since)
        return now >= notBefore && age >= Self.age(of: enrollment.deviceID, lifetime: lifetime) ? .renew : .wait
    }

    mutating func failed(now: UInt64) { notBefore = now &+ Tunables.Retry.credentialMicroseconds }

    /// The age at which this device renews its credential, in microseconds.
    static func age(of device: DeviceID, lifetime: Duration) -> Int64 {
        let whole = Int64(clamping: lifetime.components.seconds).multipliedReportingOverflow(by: 1_000_000)
        let microseconds = whole.overflow ? Int64.max : whole.partialValue
        let part = Int64(device.low % 1000)
        return microseconds - microseconds / Int64(Self.spread) / 1000 * part
    }
}
