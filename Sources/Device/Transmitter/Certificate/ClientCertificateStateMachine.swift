import WireModel

/// Decides whether the device shows its client certificate, and when it asks for another. Pure: wall times are
/// microseconds since 1970 as the collector's clock has them, where that is known; boot times are microseconds since
/// boot.
///
/// A collector that does not take a certificate ends the connection in its handshake, and says nothing that could be
/// acted on. So the request after one that failed there goes without: an answer to it tells that the certificate is to
/// blame, another failure that it is not.
package struct ClientCertificateStateMachine: Sendable {
    package enum Phase: Equatable, Sendable {
        /// There is none that could be shown. -> shown
        case none
        /// On every connection. -> withheld, none
        case shown(CertificateLife)
        /// The handshake failed with it, and the next request goes without. -> shown, refused
        case withheld(CertificateLife)
        /// Without it the collector answers: another is asked for. -> shown
        case refused
    }

    package enum Outcome: Equatable, Sendable {
        case granted
        /// The collector has answered, and issues none.
        case notIssued
    }

    private static let hour: UInt64 = 3600 * 1_000_000
    private static let day: UInt64 = 24 * hour

    package private(set) var phase = Phase.none
    /// Not before, by the time since boot.
    private var nextRequest: UInt64 = 0

    package init() {}

    /// What the enrollment in force has was taken by the transport; `nil`: it has none, or none that can be used.
    ///
    /// It is shown even where it has ended by the device's clock, which may be wrong: that is the collector's to judge.
    package mutating func placed(_ life: CertificateLife?) {
        phase = life.map { .shown($0) } ?? .none
    }

    /// Nothing came of asking, now.
    package mutating func failed(now: UInt64) { nextRequest = max(nextRequest, now &+ Self.hour) }

    /// What was just given cannot be used, such as one for another key: asking for more of it at once would not help.
    package mutating func wasOfNoUse(now: UInt64) {
        if nextRequest > now { asked(.notIssued, now: now) }
    }

    /// Whether connections show it.
    package var isShown: Bool { if case .shown = phase { true } else { false } }

    /// - Returns: whether what connections show has changed.
    package mutating func handshakeFailed() -> Bool {
        switch phase {
        case .shown(let life): phase = .withheld(life)
        case .withheld(let life): phase = .shown(life)
        case .none, .refused: return false
        }
        return true
    }

    /// The collector has answered, whatever.
    package mutating func answered() {
        if case .withheld = phase { phase = .refused }
    }

    package func isRequestDue(at wallTime: Int64, now: UInt64) -> Bool {
        guard now >= nextRequest else { return false }
        return switch phase {
        case .none, .refused: true
        case .shown(let life): wallTime >= life.renewal
        case .withheld: false
        }
    }

    /// A certificate was asked for. The next time is an hour away at least, and a day where none is issued.
    package mutating func asked(_ outcome: Outcome, now: UInt64) {
        nextRequest = now &+ (outcome == .notIssued ? Self.day : Self.hour)
    }
}

/// Decides when a device asks for a new credential by itself, so that a secret somebody read from a disk or a backup
/// does not stay useful for ever. Pure.
///
/// Ages are counted by the collector's clock, so nothing is decided before it has answered. Where that clock jumps
/// forward, a renewal comes too early; where it goes back, the count begins anew: both leave a device that can speak,
/// since the former credential stays good until the new one was used.
struct CredentialRenewal: Equatable, Sendable {
    enum Step: Equatable, Sendable {
        case wait
        /// Nobody knows how old it is: from now on somebody does.
        case beginCounting
        case renew
    }

    /// After a failure the next attempt is so far away, in microseconds.
    private static let pause: UInt64 = 3600 * 1_000_000
    /// A fleet that was enrolled on one day does not renew on one day: each device comes earlier by a part of its own
    /// of the last tenth.
    private static let spread = 10

    /// By the time since boot.
    private var notBefore: UInt64 = 0

    init() {}

    /// - Parameters:
    ///   - wallTime: microseconds since 1970, by the collector's clock.
    ///   - now: microseconds since boot.
    func step(_ enrollment: Enrollment, lifetime: Duration, at wallTime: Int64, now: UInt64) -> Step {
        guard let since = enrollment.credentialSince, since <= wallTime else { return .beginCounting }
        guard now >= notBefore, wallTime - since >= Self.age(of: enrollment.deviceID, lifetime: lifetime) else {
            return .wait
        }
        return .renew
    }

    mutating func failed(now: UInt64) { notBefore = now &+ Self.pause }

    /// At which this device's is renewed, microseconds.
    static func age(of device: DeviceID, lifetime: Duration) -> Int64 {
        let whole = Int64(clamping: lifetime.components.seconds).multipliedReportingOverflow(by: 1_000_000)
        let microseconds = whole.overflow ? Int64.max : whole.partialValue
        let part = Int64(device.low % 1000)
        return microseconds - microseconds / Int64(Self.spread) / 1000 * part
    }
}
