/// What one token lets its holder do with others. Pure.
extension TokenRow {
    /// Whether it can be used, and why not; as people read it.
    package enum State: String, Sendable {
        case good
        case expired
        case usedUp = "used-up"
        case revoked
    }

    package func state(at now: Int64) -> State {
        if revoked != nil { return .revoked }
        if expires ?? .max <= now { return .expired }
        return uses >= maximumUses ?? .max ? .usedUp : .good
    }

    func isGood(at now: Int64) -> Bool { revoked == nil && expires ?? .max > now }

    /// Why this token's holder may not make another; `nil` where it may. Nobody makes a token with more rights than their own: no greater
    /// role, no further organization, and no person's token that outlives it.
    func refusal(toMake other: TokenRow, at now: Int64) -> String? {
        guard kind == .person, isGood(at: now), let role, role == .administrator else {
            return "Making tokens needs an administrator's token."
        }
        if let organization, other.organization != organization {
            return "An administrator of \(organization) makes tokens of that organization only."
        }
        if let otherRole = other.role, otherRole > role { return "The token would have a greater role than yours." }
        if other.kind == .person, let expires, other.expires ?? .max > expires {
            return "A person's token cannot outlive the token it is made with."
        }
        return nil
    }

    /// Whether revoking it would leave nobody to take its place: of the actor's own token, the last administrator's of its organization; of
    /// all organizations, anybody's last.
    func isLastAdministrator(among tokens: [TokenRow], by actor: AuditActor, at now: Int64) -> Bool {
        guard kind == .person, role == .administrator, isGood(at: now), actor.token == id || organization == nil else { return false }
        return !tokens.contains {
            $0.id != id && $0.kind == .person && $0.role == .administrator && $0.organization == organization && $0.isGood(at: now)
        }
    }
}
