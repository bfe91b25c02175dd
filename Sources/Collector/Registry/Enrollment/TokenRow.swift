import CollectorAPI

/// The owner of a person's token.
package struct Person: Equatable, Sendable {
    package var name: String
    package var role: PersonRole
    /// `nil` for all organizations.
    package var organization: String?
    /// The token's id in the list of tokens.
    package var tokenID = ""
    /// It sees all organizations, and looks at this one only.
    package var isNarrowed = false
}

package struct TokenRow: Equatable, Sendable {
    package enum Kind: Int, Sendable, CaseIterable {
        case enrollment = 1
        case person = 2
        /// Of programs that send OTLP.
        case otlp = 3
    }

    package var id: String
    package var kind: Kind
    /// The person's name, or the note of another token.
    package var name: String
    /// The role of a person's token.
    package var role: PersonRole?
    package var organization: String?
    package var created: Int64
    package var expires: Int64?
    package var maximumUses: Int?
    package var uses: Int
    package var revoked: Int64?
}

/// A token to make.
package struct NewToken: Equatable, Sendable {
    package enum Holder: Equatable, Sendable {
        /// Devices enroll with it.
        case device
        case person(PersonRole)
        /// Programs send OTLP with it.
        case otlp
    }

    package var holder: Holder
    /// The person's name, or the note of another token.
    package var name: String
    /// `nil` for all. Only for a person's token.
    package var organization: String?
    /// `nil` for no expiry.
    package var expiresInSeconds: Int64?
    /// Devices that may enroll with it; `nil` for any number.
    package var maximumUses: Int?

    package init(
        _ holder: Holder, name: String, organization: String?, expiresInSeconds: Int64? = nil, maximumUses: Int? = nil
    ) {
        self.holder = holder
        self.name = name
        self.organization = organization
        self.expiresInSeconds = expiresInSeconds
        self.maximumUses = maximumUses
    }
}

/// A position in the list of tokens.
package struct TokenPosition: Equatable, Sendable {
    package var created: Int64
    package var id: String

    package init(created: Int64, id: String) {
        self.created = created
        self.id = id
    }
}

extension TokenRow.Kind {
    /// The name for people.
    package var name: String {
        switch self {
        case .enrollment: "enrollment"
        case .person: "person"
        case .otlp: "otlp"
        }
    }
}

/// The permissions of a token's holder on other tokens. Pure.
extension TokenRow {
    /// Whether it can be used, or why not; in the API's words.
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

    /// Why this token's holder may not make another; `nil` if allowed. The new token must not have a greater role,
    /// cover a further organization or, for a person, live longer.
    package func refusal(toMake other: TokenRow, at now: Int64) -> String? {
        guard kind == .person, isGood(at: now), let role, role == .administrator else {
            return "Creating tokens needs an administrator's token."
        }
        if let organization, other.organization != organization {
            return "An administrator of \(organization) may create tokens of that organization only."
        }
        if let otherRole = other.role, otherRole > role { return "The token would have a higher role than yours." }
        if other.kind == .person, let expires, other.expires ?? .max > expires {
            return "An access token cannot outlive the token that creates it."
        }
        return nil
    }

    /// Whether revoking this token would leave nobody in its place. For the actor's own token: the last administrator
    /// of its organization. For a token of all organizations: the last one of anybody.
    func isLastAdministrator(among tokens: [TokenRow], by actor: AuditActor, at now: Int64) -> Bool {
        guard kind == .person, role == .administrator, isGood(at: now), actor.token == id || organization == nil else {
            return false
        }
        return !tokens.contains {
            $0.id != id && $0.kind == .person && $0.role == .administrator && $0.organization == organization
                && $0.isGood(at: now)
        }
    }
}
