import FoundationEssentials

/// Sessions and sign-in codes that began or ended while the registry could not be written, as on a full disk. People
/// have to sign in then, to see what is wrong. Pure.
///
/// They are in the memory of this collector until the next write succeeds. A restart forgets them.
struct HeldSessions {
    /// A session or a code.
    struct Begun: Sendable {
        var kind: Secret.Kind
        var person: Person
        var at: Int64
        var expires: Int64
    }

    /// More than so many are refused, as every other change is.
    static let maximum = 1000

    /// The sessions by the hash of their secret.
    private(set) var begun: [Data: Begun] = [:]
    /// Hashes of what has ended and may still be in the registry.
    private(set) var ended: Set<Data> = []
    private(set) var signOuts: [(entry: AuditEntry, at: Int64)] = []

    var isEmpty: Bool { begun.isEmpty && ended.isEmpty && signOuts.isEmpty }

    /// - Returns: `false` if there are too many.
    mutating func begin(_ hash: Data, _ session: Begun) -> Bool {
        begun = begun.filter { $0.value.expires > session.at }
        guard begun.count < Self.maximum else { return false }
        begun[hash] = session
        return true
    }

    /// - Returns: `false` if it had ended before, or there are too many.
    mutating func end(_ hash: Data) -> Bool {
        guard !ended.contains(hash), ended.count < Self.maximum else { return false }
        begun[hash] = nil
        ended.insert(hash)
        return true
    }

    /// A sign-out for the audit trail.
    mutating func record(_ signOut: AuditEntry, at now: Int64) {
        if signOuts.count < Self.maximum { signOuts.append((signOut, now)) }
    }
}
