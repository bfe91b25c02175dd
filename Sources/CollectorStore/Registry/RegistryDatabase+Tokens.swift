import FoundationEssentials
import SQLite
import WireModel

extension RegistryDatabase {
    static func insertToken(
        _ token: TokenRow, secret: Secret, into connection: Connection
    ) throws(SQLiteError) {
        let statement = try connection.cached(
            """
            INSERT INTO token (id, hash, kind, name, role, organization, created, expires, maximum_uses) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        try statement.bind(
            token.id, secret.hash, token.kind.rawValue, token.name, (token.role?.rawValue).map(Int64.init), token.organization,
            token.created, token.expires, token.maximumUses.map(Int64.init))
        try statement.run()
    }

    func create(_ token: TokenRow, secret: Secret) throws(StoreError) {
        if let organization = token.organization {
            let isKnown = try read { () throws(SQLiteError) in
                let statement = try connection.cached("SELECT 1 FROM organization WHERE name = ?")
                try statement.bind(organization)
                defer { statement.reset() }
                return try statement.step()
            }
            guard isKnown else { throw StoreError(.notFound, "there is no organization \"\(organization)\".") }
        }
        try transaction { () throws(SQLiteError) in try Self.insertToken(token, secret: secret, into: connection) }
    }

    func person(hash: Data) throws(StoreError) -> Person? {
        let now = clock.now()
        return try read { () throws(SQLiteError) in
            let statement = try connection.cached(
                "SELECT name, role, organization, expires, hash FROM token WHERE hash = ? AND kind = ? AND revoked IS NULL")
            try statement.bind(hash, TokenRow.Kind.person.rawValue)
            defer { statement.reset() }
            guard try statement.step(), Secret.areEqual(statement.data(4), hash), let role = PersonRole(rawValue: statement.int(1)) else {
                return nil
            }
            if let expires = statement.optionalInt64(3), expires <= now { return nil }
            return Person(name: statement.string(0), role: role, organization: statement.optionalString(2))
        }
    }

    func tokens() throws(StoreError) -> [TokenRow] {
        try read { () throws(SQLiteError) in try TokenRow.all(in: connection) }
    }

    func revokeToken(_ id: String) throws(StoreError) {
        let now = clock.now()
        let changed = try transaction { () throws(SQLiteError) in
            let statement = try connection.cached("UPDATE token SET revoked = coalesce(revoked, ?) WHERE id = ?")
            try statement.bind(now, id)
            try statement.run()
            return connection.changes
        }
        guard changed == 1 else { throw StoreError(.notFound, "there is no token \"\(id)\".") }
    }
}

extension TokenRow {
    /// In the order of their making; revoked ones too.
    static func all(in connection: Connection) throws(SQLiteError) -> [TokenRow] {
        let statement = try connection.cached(
            "SELECT id, kind, name, role, organization, created, expires, maximum_uses, uses, revoked FROM token ORDER BY created, id")
        defer { statement.reset() }
        var tokens: [TokenRow] = []
        while try statement.step() {
            guard let kind = TokenRow.Kind(rawValue: statement.int(1)) else { continue }
            tokens.append(
                TokenRow(
                    id: statement.string(0), kind: kind, name: statement.string(2), role: PersonRole(rawValue: statement.int(3)),
                    organization: statement.optionalString(4), created: statement.int64(5), expires: statement.optionalInt64(6),
                    maximumUses: statement.optionalInt64(7).map(Int.init), uses: statement.int(8), revoked: statement.optionalInt64(9)))
        }
        return tokens
    }
}
