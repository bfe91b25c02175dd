import FoundationEssentials

/// The certificate pins that are in force, and how a device gets back from a set that cuts it off. Pure; times are
/// microseconds of the queue clock.
///
/// A profile with wrong pins would also guard the connection that brings its correction. So a set is applied only while
/// it fits the key that the collector shows now, and a set that fails for too long gives way to the one that last
/// worked:
///
///     in force ── a profile brings another set ──► fits the present key ──────────────► in force, unproven
///        ▲                                        └► does not ──► refused: former set and refused one together
///        │                                                                 ▲                │
///        │              in force, unproven ── fails for too long ──────────┘                │
///        └────────────── a connection under the set, or to a key of the refused set ────────┘
///
/// While a set is refused, a key of either set is accepted: both came from the collector over a connection that was
/// trusted. Where the former set was empty, any key is accepted that a certificate authority vouches for, as before the
/// profile.
struct PinPolicy: Codable, Equatable, Sendable {
    /// Why a profile's set is not in force.
    enum Reason: String, Codable, Sendable {
        /// The set does not contain the key that the collector showed when the set came.
        case unsatisfied
        /// No connection matched the set for too long.
        case failed
    }

    struct Refused: Codable, Equatable, Sendable {
        var pins: [Data]
        var reason: Reason
    }

    enum Change: Equatable, Sendable {
        case refused
        case fellBack
        /// The refused set is now in force.
        case applied
    }

    /// How long pins may fail if no offline time is set.
    static let defaultAllowedSeconds = 86_400.0

    /// The set with which a connection last succeeded; `nil` if none is known, so there is nothing to fall back to.
    private(set) var worked: [Data]?
    private(set) var refused: Refused?
    /// Since when no connection matches the pins in force; `nil` if the last one did.
    private(set) var failingSince: Int64?

    /// The pins in force; empty for no pinning.
    func inForce(_ profile: [Data]) -> [Data] {
        guard let refused, refused.pins == profile else { return profile }
        let former = worked ?? []
        return former.isEmpty ? [] : former + refused.pins.filter { !former.contains($0) }
    }

    func finding(_ profile: [Data]) -> Reason? { refused.flatMap { $0.pins == profile ? $0.reason : nil } }

    /// A profile came from the collector.
    ///
    /// - Parameters:
    ///   - former: the former profile's pins.
    ///   - key: the key that the collector showed on that connection; `nil` if unknown or without TLS.
    mutating func arrived(_ pins: [Data], former: [Data], key: Data?) -> Change? {
        guard pins != former else { return nil }
        // The profile came over a connection that matched the former set.
        if key != nil, refused == nil { worked = former }
        refused = nil
        failingSince = nil
        guard let key, !pins.isEmpty, !pins.contains(key) else { return nil }
        refused = Refused(pins: pins, reason: .unsatisfied)
        return .refused
    }

    /// The collector answered on a connection with this key.
    mutating func connected(_ profile: [Data], key: Data) -> Change? {
        let pins = inForce(profile)
        // An answer from before the pins changed proves nothing about the new pins.
        guard pins.isEmpty || pins.contains(key) else { return nil }
        failingSince = nil
        if let refused, refused.pins == profile {
            guard refused.pins.contains(key) else { return nil }
            self.refused = nil
            worked = profile
            return .applied
        }
        // An empty set is stored only once there is another, so a device without pins has no file.
        if worked != nil || !profile.isEmpty { worked = profile }
        return nil
    }

    /// A connection was refused for its key.
    ///
    /// - Parameter allowedSeconds: the allowed offline time; `nil` if not set.
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
