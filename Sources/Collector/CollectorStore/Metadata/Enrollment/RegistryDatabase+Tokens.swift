import FoundationEssentials
import SQLite

extension RegistryDatabase {
    static func insertToken(
        _ token: TokenRow, secret: Secret, into connection: Connection
    ) throws(SQLiteError) {
        try connection.run(
            """
            INSERT INTO token (id, hash, kind, name, role, organization, created, expires, maximum_uses) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """, token.id, secret.hash, token.kind.rawValue, token.name, (token.role?.rawValue).map(Int64.init),
            token.organization,
            token.created, token.expires, token.maximumUses.map(Int64.init))
    }

    /// An actor with a token is held to it as it stands on disk now.
    func create(_ token: TokenRow, secret: Secret, by actor: AuditActor) throws(AdministrationError) {
        let now = clock.now()
        try change { () throws(SQLiteError) -> Result<Void, AdministrationError> in
            if let maker = actor.token {
                let maker = try TokenRow.one(maker, in: connection)
                if let refusal = maker?.refusal(toMake: token, at: now) { return .failure(.forbidden(refusal)) }
                guard maker != nil else { return .failure(.forbidden("Your own token is not known any more.")) }
            }
            if let organization = token.organization {
                guard try connection.hasRow("SELECT 1 FROM organization WHERE name = ?", organization) else {
                    return .failure(.notFound("there is no organization \"\(organization)\"."))
                }
            }
            try Self.insertToken(token, secret: secret, into: connection)
            var detail = ["kind": token.kind.name, "name": token.name]
            if let role = token.role { detail["role"] = "\(role)" }
            if let uses = token.maximumUses { detail["maximumUses"] = "\(uses)" }
            try audit.append(
                AuditEntry(
                    .tokenCreate, by: actor, organization: token.organization ?? "", subject: token.id, detail: detail),
                at: now)
            return .success(())
        }
    }

    func person(hash: Data) throws(StoreError) -> Person? {
        let now = clock.now()
        return try read { () throws(SQLiteError) in
            try connection.first(
                "SELECT name, role, organization, expires, hash, id FROM token WHERE hash = ? AND kind = ? AND revoked IS NULL",
                hash, TokenRow.Kind.person.rawValue
            ) { token in
                guard Secret.areEqual(token.data(4), hash), let role = PersonRole(rawValue: token.int(1)),
                    token.optionalInt64(3) ?? .max > now
                else { return nil }
                return Person(
                    name: token.string(0), role: role, organization: token.optionalString(2), tokenID: token.string(5))
            }
        }
    }

    /// `nil` for one without end, and for one that is not known.
    func expiry(ofToken id: String) throws(AdministrationError) -> Int64? {
        do throws(StoreError) {
            return try read { () throws(SQLiteError) in try TokenRow.one(id, in: connection)?.expires }
        } catch { throw .store(error) }
    }

    func tokens() throws(StoreError) -> [TokenRow] {
        try read { () throws(SQLiteError) in try TokenRow.all(in: connection) }
    }

    func tokens(
        organization: String?, kind: TokenRow.Kind?, after position: TokenPosition?, limit: Int
    ) throws(StoreError) -> TokenPage {
        var rows = try read { () throws(SQLiteError) in
            try connection.rows(
                """
                SELECT \(TokenRow.columns) FROM token WHERE (?1 IS NULL OR organization = ?1) AND (?2 IS NULL OR kind = ?2)
                AND (?3 IS NULL OR created > ?3 OR (created = ?3 AND id > ?4)) ORDER BY created, id LIMIT ?5
                """, organization, (kind?.rawValue).map(Int64.init), position?.created, position?.id, limit + 1
            ) { TokenRow($0) }
        }
        guard rows.count > limit else { return TokenPage(tokens: rows, next: nil) }
        rows.removeLast()
        return TokenPage(tokens: rows, next: rows.last.map { TokenPosition(created: $0.created, id: $0.id) })
    }

    /// - Parameter organization: of which it must be; `nil` for any.
    func revokeToken(_ id: String, organization: String?, by actor: AuditActor) throws(AdministrationError) {
        let now = clock.now()
        try change { () throws(SQLiteError) -> Result<Void, AdministrationError> in
            guard let token = try TokenRow.one(id, in: connection),
                organization == nil || token.organization == organization
            else {
                return .failure(.notFound("there is no token \"\(id)\"."))
            }
            guard token.revoked == nil else { return .success(()) }
            if actor.token != nil,
                token.isLastAdministrator(among: try TokenRow.all(in: connection), by: actor, at: now)
            {
                var entry = Self.revocation(of: token, by: actor)
                entry.outcome = .refused
                entry.detail["reason"] = "last-administrator"
                try audit.append(entry, at: now)
                return .failure(.lastAdministrator)
            }
            try close(token, by: actor, at: now)
            return .success(())
        }
    }

    /// Refuses a token from now on, with its entry in the audit trail; inside a transaction. One that is refused
    /// already stays as it is.
    func close(_ token: TokenRow, by actor: AuditActor, at now: Int64) throws(SQLiteError) {
        guard token.revoked == nil else { return }
        try connection.run("UPDATE token SET revoked = ? WHERE id = ?", now, token.id)
        try audit.append(Self.revocation(of: token, by: actor), at: now)
    }

    private static func revocation(of token: TokenRow, by actor: AuditActor) -> AuditEntry {
        AuditEntry(
            .tokenRevoke, by: actor, organization: token.organization ?? "", subject: token.id,
            detail: ["kind": token.kind.name, "name": token.name])
    }

    func auditPage(_ query: AuditQuery, below id: Int64?, limit: Int) throws(StoreError) -> AuditPage {
        try read { () throws(SQLiteError) in try audit.page(query, below: id, limit: limit) }
    }

    /// One transaction; what it answers is committed, a refusal with its entry in the audit trail too.
    func change<Value>(
        _ body: () throws(SQLiteError) -> Result<Value, AdministrationError>
    ) throws(AdministrationError) -> Value {
        let outcome: Result<Value, AdministrationError>
        do { outcome = try transaction(body) } catch { throw .store(error) }
        return try outcome.get()
    }
}

extension TokenRow {
    static let columns = "id, kind, name, role, organization, created, expires, maximum_uses, uses, revoked"

    /// In the order of their making; revoked ones too.
    static func all(in connection: Connection) throws(SQLiteError) -> [TokenRow] {
        try connection.rows("SELECT \(columns) FROM token ORDER BY created, id") { TokenRow($0) }
    }

    static func one(_ id: String, in connection: Connection) throws(SQLiteError) -> TokenRow? {
        try connection.first("SELECT \(columns) FROM token WHERE id = ?", id) { TokenRow($0) }
    }

    /// - Parameter row: of `columns`; `nil` where its kind is not known.
    init?(_ row: Statement) {
        guard let kind = Kind(rawValue: row.int(1)) else { return nil }
        self.init(
            id: row.string(0), kind: kind, name: row.string(2), role: PersonRole(rawValue: row.int(3)),
            organization: row.optionalString(4), created: row.int64(5), expires: row.optionalInt64(6),
            maximumUses: row.optionalInt64(7).map(Int.init), uses: row.int(8), revoked: row.optionalInt64(9))
    }
}
