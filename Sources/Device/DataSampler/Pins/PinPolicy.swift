import FoundationEssentials

/// Which certificate pins are in force, and how a device gets back from a set that cuts it off. Pure; times are
/// microseconds of the queue clock.
///
/// A profile with wrong pins would also guard the connection that brings its correction. So a set is taken only while
/// it fits the key that the collector shows now, and a set that fails for too long gives way to the one that last
/// worked:
///
///     in force ── a profile brings another set ──► fits the present key ──────────────► in force, unproven
///        ▲                                        └► does not ──► refused: former set and refused one together
///        │                                                                 ▲                │
///        │              in force, unproven ── fails for too long ──────────┘                │
///        └────────────── a connection under the set, or to a key of the refused set ────────┘
///
/// While a set is refused, a key of either set is taken: both came from the collector over a connection that was
/// trusted. Where the former set was empty, any key is taken that a certificate authority vouches for, as before the
/// profile.
struct PinPolicy: Codable, Equatable, Sendable {
    /// Why a set of the profile is not in force.
    enum Reason: String, Codable, Sendable {
        /// The key that the collector showed when the set came is not in it.
        case unsatisfied
        /// No connection fitted it for too long.
        case failed
    }

    struct Refused: Codable, Equatable, Sendable {
        var pins: [Data]
        var reason: Reason
    }

    enum Change: Equatable, Sendable {
        case refused
        case fellBack
        /// The refused set is in force after all.
        case taken
    }

    /// How long pins may fail where no offline time is set.
    static let defaultAllowedSeconds = 86_400.0

    /// The set under which a connection was made last; `nil`: none is known, and there is nothing to fall back to.
    private(set) var worked: [Data]?
    private(set) var refused: Refused?
    /// Since when no connection fits the pins in force; `nil`: the last one did.
    private(set) var failingSince: Int64?

    /// The pins in force. Empty: none are asked for.
    func inForce(_ profile: [Data]) -> [Data] {
        guard let refused, refused.pins == profile else { return profile }
        let former = worked ?? []
        return former.isEmpty ? [] : former + refused.pins.filter { !former.contains($0) }
    }

    func finding(_ profile: [Data]) -> Reason? { refused.flatMap { $0.pins == profile ? $0.reason : nil } }

    /// A profile came from the collector.
    ///
    /// - Parameters:
    ///   - former: the profile's pins before.
    ///   - key: what the collector showed on the connection that brought it; `nil`: unknown, or there is no TLS.
    mutating func arrived(_ pins: [Data], former: [Data], key: Data?) -> Change? {
        guard pins != former else { return nil }
        // What brought the profile was a connection under the former set.
        if key != nil, refused == nil { worked = former }
        refused = nil
        failingSince = nil
        guard let key, !pins.isEmpty, !pins.contains(key) else { return nil }
        refused = Refused(pins: pins, reason: .unsatisfied)
        return .refused
    }

    /// The collector answered, on a connection to this key.
    mutating func connected(_ profile: [Data], key: Data) -> Change? {
        let pins = inForce(profile)
        // An answer of before the pins changed proves nothing of those that came since.
        guard pins.isEmpty || pins.contains(key) else { return nil }
        failingSince = nil
        if let refused, refused.pins == profile {
            guard refused.pins.contains(key) else { return nil }
            self.refused = nil
            worked = profile
            return .taken
        }
        // An empty set need not be kept until there is another: a device without pins keeps no file.
        if worked != nil || !profile.isEmpty { worked = profile }
        return nil
    }

    /// A connection was refused for its key.
    ///
    /// - Parameter allowedSeconds: the offline time allowed; `nil`: none is set.
    mutating func mismatched(_ profile: [Data], allowedSeconds: Double?, now: Int64) -> Change? {
        guard let since = failingSince, since <= now else {
            failingSince = now
            return nil
        }
        let allowed = Int64((allowedSeconds ?? Self.defaultAllowedSeconds) * 1_000_000)
        guard now - since >= allowed, finding(profile) == nil, let worked, worked != profile else { return nil }
        refused = Refused(pins: profile, reason: .failed)
        failingSince = nil
        return .fellBack
    }
}
