import FoundationEssentials

/// Which certificate authorities of profiles a device trusts, and how it gets back from a set that cuts it off. Pure;
/// times are microseconds of the queue clock.
///
/// The authorities of a profile are trusted beside those of the system and of the configuration. So a set cuts a device
/// off only by what it leaves out: an authority of the former profile that the collector's certificate still needs. A
/// rotation has three profiles: the old authority, both, the new one. A profile that drops the old one too early must
/// not lock anybody out:
///
///     in force ── a profile leaves an authority out ──► on trial: its set alone
///        ▲                                               │  ▲
///        │◄── the collector answers ─────────────────────┘  │ an hour later, or another profile
///        │                                               │  │
///        │    no TLS with it, but with both sets ────────▼  │
///        └────────────────────────────────────────── fallen back: both sets
///
/// Only an answer with both sets, right after a failure with the new one alone, shows that the new set is the cause.
/// A network that intercepts TLS fails with both, and changes nothing.
///
/// What speaks against it, and why it is so nevertheless:
///
/// - Somebody who holds the key of a dropped authority, and is on the way at the first connection after the profile,
///   can make the device fall back. The trial each hour ends that once they are gone. After one answer with the new
///   set alone, the old one is forgotten. Who cannot wait pins the keys: pins hold whatever authority vouches.
/// - The new set could be checked against the certificate that the collector showed. But the TLS library judges the
///   chain, with the intermediates that the server sends. A second verdict of our own could differ from it.
/// - A waiting time as for pins would be simpler to explain. But a device without an authority sends nothing at all,
///   while the evidence costs one more handshake.
struct AuthorityPolicy: Codable, Equatable, Sendable {
    struct Failed: Codable, Equatable, Sendable {
        var authorities: [Data]
        /// When the set is tried alone again.
        var nextTrial: Int64
    }

    enum Change: Equatable, Sendable {
        case fellBack
        /// The set that failed before is now in force alone.
        case applied
    }

    /// How long a device trusts both sets before it tries the profile's alone again. A trial costs two handshakes.
    static let trialSeconds = 3600.0

    private static let trialTime = Int64(trialSeconds * 1_000_000)

    /// The profile's set with which the collector last answered; empty if none was needed.
    private(set) var worked: [Data] = []
    private(set) var failed: Failed?

    /// Whether the profile's set is not in force alone, because the collector needs a former one.
    func hasFallenBack(_ profile: [Data]) -> Bool { failed?.authorities == profile }

    /// The authorities to trust now, beside those of the system and of the configuration.
    func inForce(_ profile: [Data], now: Int64) -> [Data] {
        guard let failed, failed.authorities == profile else { return profile }
        // A trial that is further away than it can be was set by another clock.
        let isWaiting = now < failed.nextTrial && failed.nextTrial - now <= Self.trialTime
        return isWaiting ? together(profile) : profile
    }

    /// The authorities to try after a connection failed with this set; `nil`: no other set worked before.
    func fallback(_ profile: [Data], from used: [Data]) -> [Data]? {
        let both = together(profile)
        return used == profile && both != profile ? both : nil
    }

    /// The collector answered under this set.
    mutating func answered(_ profile: [Data], under used: [Data]) -> Change? {
        // An answer under another set proves nothing about the profile's.
        guard used == profile else { return nil }
        let change: Change? = hasFallenBack(profile) ? .applied : nil
        worked = profile
        failed = nil
        return change
    }

    /// The collector answered under both sets, right after the profile's alone had failed.
    mutating func fellBack(_ profile: [Data], now: Int64) -> Change? {
        let change: Change? = hasFallenBack(profile) ? nil : .fellBack
        failed = Failed(authorities: profile, nextTrial: now + Self.trialTime)
        return change
    }

    private func together(_ profile: [Data]) -> [Data] { profile + worked.filter { !profile.contains($0) } }
}
