import FoundationEssentials
import WireModel

/// Sessions of people in the web console. A browser keeps the session's secret as a cookie, so that the token stays
/// out of the browser. Only the secret's hash is on disk.
///
/// A session has the rights of its token as they are now, and ends with it. A sign-in code is a row of the same table
/// with another kind of secret. It opens no page, and the sign-in removes it.
extension MetadataService {
    /// Seconds after which a person signs in again.
    package static let sessionSeconds: Int64 = 12 * 3600
    /// Seconds for which a sign-in code is valid.
    package static let signInCodeSeconds: Int64 = 600
    /// The newest sessions and codes of a token that stay; one more ends the oldest.
    static let sessionsPerToken = 100

    /// Begins a session. When it returns, session and audit entry are on synced disk. Repeated sign-ins are one entry.
    /// - Returns: the session's secret, which is told only here; `nil` if nobody has the token.
    package func signIn(token: String) async throws(StoreError) -> (secret: String, person: Person)? {
        guard let person = try await authenticatePerson(token: token), let secret = try beginSession(of: person) else {
            return nil
        }
        return (secret, person)
    }

    /// Begins a session with a code, which is then used up.
    /// - Returns: as for a token; `nil` also if the code has been used or has expired.
    package func signIn(code: String) async throws(StoreError) -> (secret: String, person: Person)? {
        guard let person = try await person(of: code, .signInCode),
            let secret = try beginSession(of: person, usingUp: Secret.hash(of: code))
        else { return nil }
        return (secret, person)
    }

    /// Makes a code with which one browser can sign in once as this person. A link may hold it: it is worthless soon.
    /// - Returns: the code, which is told only here, and when it expires.
    package func createSignInCode(for person: Person) throws(StoreError) -> (code: String, expires: Int64) {
        let (now, code) = (clock.now(), Secret(.signInCode))
        let expires = now + Self.signInCodeSeconds * 1_000_000
        try transaction { () throws(StoreError) in try insert(code, of: person, at: now, until: expires) }
        return (code.text, expires)
    }

    /// - Parameter code: the hash of the code that it uses up.
    /// - Returns: the session's secret; `nil` if another sign-in has used the code meanwhile.
    private func beginSession(of person: Person, usingUp code: Data? = nil) throws(StoreError) -> String? {
        let (now, secret) = (clock.now(), Secret(.session))
        return try transaction { () throws(StoreError) -> String? in
            if let code, try connection.run("DELETE FROM session WHERE hash = ?", code) != 1 { return nil }
            try insert(secret, of: person, at: now, until: now + Self.sessionSeconds * 1_000_000)
            try noteSignIn(of: person, at: now)
            return secret.text
        }
    }

    private func insert(_ secret: Secret, of person: Person, at now: Int64, until expires: Int64) throws(StoreError) {
        try connection.run("DELETE FROM session WHERE expires <= ?", now)
        try connection.run(
            "INSERT INTO session (hash, token, created, expires) VALUES (?, ?, ?, ?)", secret.hash, person.tokenID,
            now, expires)
        try connection.run(
            """
            DELETE FROM session WHERE token = ?1 AND hash NOT IN
            (SELECT hash FROM session WHERE token = ?1 ORDER BY created DESC LIMIT ?2)
            """, person.tokenID, Self.sessionsPerToken)
    }

    /// A script that signs in with every request makes one entry an hour. Call it inside a transaction.
    private func noteSignIn(of person: Person, at now: Int64) throws(StoreError) {
        let organization = person.organization ?? ""
        let admitted = signInLimit.admit(.signIn, of: person.tokenID, organization: organization, at: now)
        guard let leftOut = admitted else { return }
        try audit.append(
            AuditEntry(
                .signIn, by: AuditActor(person), organization: organization, subject: person.tokenID,
                detail: AuditEntry.detail([:], leftOut: leftOut)),
            at: now)
    }

    /// The person of a session; `nil` if it has ended, or its token is revoked or expired.
    package nonisolated func authenticateSession(_ secret: String) async throws(StoreError) -> Person? {
        try await person(of: secret, .session)
    }

    /// - Parameter kind: the secret must be of it.
    private nonisolated func person(of secret: String, _ kind: Secret.Kind) async throws(StoreError) -> Person? {
        guard Secret.bytes(of: secret, kind) != nil else { return nil }
        let (now, hash) = (clock.now(), Secret.hash(of: secret))
        return try await readers.read { connection throws(StoreError) in
            try connection.first(
                """
                SELECT name, role, organization, token.expires, session.hash, token.id FROM session
                JOIN token ON token.id = session.token
                WHERE session.hash = ? AND session.expires > ? AND kind = ? AND revoked IS NULL
                """, hash, now, TokenRow.Kind.person.rawValue
            ) { Person($0, hash: hash, at: now) }
        }
    }

    /// Ends a session.
    /// - Parameter everywhere: also ends all others of the same token.
    package func signOut(_ secret: String, everywhere: Bool) async throws(StoreError) {
        guard let person = try await authenticateSession(secret) else { return }
        let (now, hash) = (clock.now(), Secret.hash(of: secret))
        try transaction { () throws(StoreError) in
            let ended =
                everywhere
                ? try connection.run("DELETE FROM session WHERE token = ?", person.tokenID)
                : try connection.run("DELETE FROM session WHERE hash = ?", hash)
            try audit.append(
                AuditEntry(
                    .signOut, by: AuditActor(person), organization: person.organization ?? "",
                    subject: person.tokenID, detail: ["sessions": "\(ended)"]),
                at: now)
        }
    }

    /// Writes an audit entry about an attempt to sign in with a token that nobody has; at most one a minute.
    /// - Parameter address: the client's.
    package func noteRefusedSignIn(from address: String) throws(StoreError) {
        let now = clock.now()
        guard let leftOut = signInRefusals.admit(at: now) else { return }
        let entry = AuditEntry(
            .signIn, by: AuditActor(name: "unknown"), organization: "", subject: "",
            detail: AuditEntry.detail(["address": address], leftOut: leftOut), outcome: .refused)
        try transaction { () throws(StoreError) in try audit.append(entry, at: now) }
    }
}

/// Limits the audit entries about refused sign-ins, which anybody can cause. Pure.
struct SignInRefusals {
    static let intervalMicroseconds: Int64 = 60_000_000

    private var noted: Int64?
    private var leftOut = 0

    /// - Returns: how many were left out since the last entry; `nil` if this one is left out too.
    mutating func admit(at now: Int64) -> Int? {
        // A clock that was set back silences nobody for long.
        if let noted, (0..<Self.intervalMicroseconds).contains(now - noted) {
            leftOut += 1
            return nil
        }
        defer { (noted, leftOut) = (now, 0) }
        return leftOut
    }
}

extension Person {
    /// Reads name, role, organization, expiry, hash and id of a valid person's token.
    /// - Parameter hash: what the row's hash must be.
    init?(_ token: RegistryRow, hash: Data, at now: Int64) {
        guard Secret.areEqual(token.data(4), hash), let role = PersonRole(rawValue: token.int(1)),
            token.optionalInt64(3) ?? .max > now
        else { return nil }
        self.init(name: token.string(0), role: role, organization: token.optionalString(2), tokenID: token.string(5))
    }
}
