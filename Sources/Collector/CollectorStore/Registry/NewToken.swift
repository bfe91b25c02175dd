/// A token that is to be made.
package struct NewToken: Equatable, Sendable {
    package enum Holder: Equatable, Sendable {
        /// Devices enroll with it.
        case device
        case person(PersonRole)
    }

    package var holder: Holder
    /// The person's name, or the enrollment token's note.
    package var name: String
    /// `nil`: all; of a person only.
    package var organization: String?
    /// `nil`: it does not expire.
    package var expiresInSeconds: Int64?
    /// Devices that may enroll with it; `nil`: any number.
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

/// A place in the list of tokens.
package struct TokenPosition: Equatable, Sendable {
    package var created: Int64
    package var id: String

    package init(created: Int64, id: String) {
        self.created = created
        self.id = id
    }
}

package struct TokenPage: Equatable, Sendable {
    package var tokens: [TokenRow]
    package var next: TokenPosition?
}

extension TokenRow.Kind {
    /// As people say it.
    package var name: String {
        switch self {
        case .enrollment: "enrollment"
        case .person: "person"
        }
    }
}
