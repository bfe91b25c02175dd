import CollectorAPI
import FoundationEssentials
import Logging
import RecordStore
import Synchronization
import WireModel

/// Sessions of people in the web console. A browser keeps the session's secret as a cookie, so that the token stays
/// out of the browser. Only the secret's hash is on disk.
///
/// A session has the rights of its token as they are now, and ends with it. A sign-in code is a row of the same table
/// with another kind of secret. It opens no page, and the sign-in removes it. While the registry cannot be written,
/// sessions begin and end in memory (`HeldSessions`).
extension MetadataService {
    /// Seconds after which a person signs in again.
    package static let sessionSeconds: Int64 = 12 * 3600
    /// Seconds for which a sign-in code is valid.
    package static let signInCodeSeconds: Int64 = 600
    /// The newest sessions and codes of a token that stay; one more ends the oldest.
    static let sessionsPerToken = 100

    /// Begins a session. When it returns, session and audit entry are on synced disk, or are held in memory because the
    /// disk is full. Repeated sign-ins are one entry.
    /// - Returns: the session's secret, which is shown only here; `nil` if nobody has the token.
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
    /// - Returns: the code, which is shown only here, and when it expires.
    package func createSignInCode(for person: Person) throws(StoreError) -> (code: String, expires: Int64) {
        let (now, code) = (clock.now(), Secret(.signInCode))
        let expires = now + Self.signInCodeSeconds * 1_000_000
        do throws(StoreError) {
            try transaction { () throws(StoreError) in
                try insert(code.hash, of: person, at: now, until: expires)
            }
        } catch { try hold(code, .signInCode, of: person, at: now, until: expires, because: error) }
        return (code.text, expires)
    }

    /// - Parameter code: the hash of the code that it uses up.
    /// - Returns: the session's secret; `nil` if another sign-in has used the code meanwhile.
    private func beginSession(of person: Person, usingUp code: Data? = nil) throws(StoreError) -> String? {
        writeHeldSessions()
        let (now, secret) = (clock.now(), Secret(.session))
        let expires = now + Self.sessionSeconds * 1_000_000
        do throws(StoreError) {
            return try transaction { () throws(StoreError) -> String? in
                if let code, try connection.run("DELETE FROM session WHERE hash = ?", code) != 1 { return nil }
                try insert(secret.hash, of: person, at: now, until: expires)
                try recordSignIn(of: person, at: now)
                return secret.text
            }
        } catch {
            if error.refusesWrites, let code, !heldSessions.withLock({ $0.end(code) }) { return nil }
            try hold(secret, .session, of: person, at: now, until: expires, because: error)
            return secret.text
        }
    }

    // MARK: While the registry cannot be written

    private func hold(
        _ secret: Secret, _ kind: Secret.Kind, of person: Person, at now: Int64, until expires: Int64,
        because error: StoreError
    ) throws(StoreError) {
        let session = HeldSessions.Begun(kind: kind, person: person, at: now, expires: expires)
        guard error.refusesWrites, heldSessions.withLock({ $0.begin(secret.hash, session) }) else { throw error }
        logger.warning("a sign-in is held in memory", metadata: ["store.error": "\(error)"])
    }

    /// Writes what is held. After a failure the next call tries again.
    func writeHeldSessions() {
        let held = heldSessions.withLock { $0 }
        guard !held.isEmpty else { return }
        do throws(StoreError) {
            try transaction { () throws(StoreError) in
                for (hash, session) in held.begun.sorted(by: { $0.value.at < $1.value.at }) {
                    // The token may have gone meanwhile.
                    guard try connection.hasRow("SELECT 1 FROM token WHERE id = ?", session.person.tokenID) else {
                        continue
                    }
                    try insert(hash, of: session.person, at: session.at, until: session.expires)
                    if session.kind == .session { try recordSignIn(of: session.person, at: session.at) }
                }
                for hash in held.ended { try connection.run("DELETE FROM session WHERE hash = ?", hash) }
                for signOut in held.signOuts { try audit.append(signOut.entry, at: signOut.at) }
            }
            heldSessions.withLock { $0 = HeldSessions() }
        } catch { logger.warning("sessions are still held in memory", metadata: ["store.error": "\(error)"]) }
    }

    private func insert(_ hash: Data, of person: Person, at now: Int64, until expires: Int64) throws(StoreError) {
        try connection.run("DELETE FROM session WHERE expires <= ?", now)
        try connection.run(
            "INSERT INTO session (hash, token, created, expires) VALUES (?, ?, ?, ?)", hash, person.tokenID, now,
            expires)
        try connection.run(
            """
            DELETE FROM session WHERE token = ?1 AND hash NOT IN
            (SELECT hash FROM session WHERE token = ?1 ORDER BY created DESC LIMIT ?2)
            """, person.tokenID, Self.sessionsPerToken)
    }

    /// A script that signs in with every request makes one entry an hour. Call it inside a transaction.
    private func recordSignIn(of person: Person, at now: Int64) throws(StoreError) {
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
        let (hasEnded, held) = heldSessions.withLock { ($0.ended.contains(hash), $0.begun[hash]) }
        guard !hasEnded else { return nil }
        return try await readers.read { connection throws(StoreError) in
            if let held, held.expires > now {
                return try connection.first(
                    """
                    SELECT name, role, organization, expires, hash, id FROM token
                    WHERE id = ? AND kind = ? AND revoked IS NULL
                    """, held.person.tokenID, TokenRow.Kind.person.rawValue
                ) { row throws(StoreError) in try Person(row, hash: row.data("hash"), at: now) }
            }
            return try connection.first(
                """
                SELECT name, role, organization, token.expires, session.hash, token.id FROM session
                JOIN token ON token.id = session.token
                WHERE session.hash = ? AND session.expires > ? AND kind = ? AND revoked IS NULL
                """, hash, now, TokenRow.Kind.person.rawValue
            ) { row throws(StoreError) in try Person(row, hash: hash, at: now) }
        }
    }

    /// Ends a session.
    /// - Parameter everywhere: also ends all others of the same token.
    package func signOut(_ secret: String, everywhere: Bool) async throws(StoreError) {
        guard let person = try await authenticateSession(secret) else { return }
        writeHeldSessions()
        let (now, hash) = (clock.now(), Secret.hash(of: secret))
        func entry(_ ended: Int) -> AuditEntry {
            AuditEntry(
                .signOut, by: AuditActor(person), organization: person.organization ?? "",
                subject: person.tokenID, detail: ["sessions": "\(ended)"])
        }
        do throws(StoreError) {
            try transaction { () throws(StoreError) in
                let ended =
                    everywhere
                    ? try connection.run("DELETE FROM session WHERE token = ?", person.tokenID)
                    : try connection.run("DELETE FROM session WHERE hash = ?", hash)
                try audit.append(entry(ended), at: now)
            }
        } catch {
            guard error.refusesWrites else { throw error }
            let hashes = everywhere ? try sessions(of: person) : [hash]
            let ended = heldSessions.withLock { held in
                let ended = hashes.count { held.end($0) }
                held.record(entry(ended), at: now)
                return ended
            }
            guard ended == hashes.count else { throw error }
        }
    }

    /// The hashes of a token's sessions and codes, with those in memory.
    private func sessions(of person: Person) throws(StoreError) -> [Data] {
        let stored = try read { () throws(StoreError) in
            try connection.rows("SELECT hash FROM session WHERE token = ?", person.tokenID) { $0.data(0) }
        }
        return heldSessions.withLock { held in
            let begun = held.begun.filter { $0.value.person.tokenID == person.tokenID }.keys
            return Set(stored).union(begun).subtracting(held.ended)
        }.map(\.self)
    }

    /// Writes an audit entry about an attempt to sign in with a token that nobody has; at most one a minute.
    /// - Parameter address: the client's.
    package func recordRefusedSignIn(from address: String) throws(StoreError) {
        let (now, former) = (clock.now(), signInRefusals)
        guard let leftOut = signInRefusals.admit(at: now) else { return }
        let entry = AuditEntry(
            .signIn, by: AuditActor(name: "unknown"), organization: "", subject: "",
            detail: AuditEntry.detail(["address": address], leftOut: leftOut), outcome: .refused)
        do throws(StoreError) {
            try transaction { () throws(StoreError) in try audit.append(entry, at: now) }
        } catch {
            // The attempt is refused all the same. The next one is recorded as soon as the disk has room.
            signInRefusals = former
            signInRefusals.leaveOut()
            guard error.refusesWrites else { throw error }
            logger.warning("a refused sign-in is not in the audit trail", metadata: ["store.error": "\(error)"])
        }
    }
}

extension StoreError {
    /// The registry can be read and not written, as on a full disk.
    fileprivate var refusesWrites: Bool { code == .diskFull || code == .io }
}

/// Limits the audit entries about refused sign-ins, which anybody can cause. Pure.
struct SignInRefusals {
    static let intervalMicroseconds: Int64 = 60_000_000

    private var recorded: Int64?
    private var leftOut = 0

    /// - Returns: how many were left out since the last entry; `nil` if this one is left out too.
    mutating func admit(at now: Int64) -> Int? {
        // A clock that was set back silences nobody for long.
        if let recorded, (0..<Self.intervalMicroseconds).contains(now - recorded) {
            leftOut += 1
            return nil
        }
        defer { (recorded, leftOut) = (now, 0) }
        return leftOut
    }

    /// An entry could not be written.
    mutating func leaveOut() { leftOut += 1 }
}

extension Person {
    /// Reads name, role, organization, expiry, hash and id of a valid person's token.
    /// - Parameter hash: what the row's hash must be.
    init?(_ token: RegistryRow, hash: Data, at now: Int64) throws(StoreError) {
        guard try Secret.areEqual(token.data("hash"), hash), let role = try PersonRole(rawValue: token.int("role")),
            try token.optionalInt64("expires") ?? .max > now
        else { return nil }
        self.init(
            name: try token.string("name"), role: role, organization: try token.optionalString("organization"),
            tokenID: try token.string("id"))
    }
}
