import FoundationEssentials
import SQLite
import WireModel

/// What `collector.sqlite` knows of the credentials it has issued, beside their hashes: the key, the counter, and the
/// incarnations that ended with a restore. Not `Sendable`: used by whoever owns its connection, inside that one's
/// transactions.
struct CredentialLedger {
    static let keyName = "credential_key"
    static let generationName = "credential_generation"

    let connection: Connection

    /// A credential for a device, of the next generation.
    func issue(to device: DeviceID, of organization: String) throws(SQLiteError) -> (secret: Secret, generation: Int64) {
        let next = try connection.cached("UPDATE meta SET value = value + 1 WHERE name = ? RETURNING value")
        try next.bind(Self.generationName)
        defer { next.reset() }
        guard try next.step() else { throw Self.incomplete(connection, Self.generationName) }
        let generation = next.int64(0)
        guard let incarnation = IncarnationID(try value("incarnation_id")) else {
            throw Self.incomplete(connection, "incarnation_id")
        }
        let credential = DeviceCredential(
            incarnation: incarnation, generation: UInt64(generation), device: device, organization: organization,
            key: try value(Self.keyName))
        return (credential.secret, generation)
    }

    /// Whether this collector, or a branch of it that a restore has ended, issued the credential to that device.
    func isIssued(_ text: String, to device: DeviceID, of organization: String) throws(SQLiteError) -> Bool {
        guard let credential = DeviceCredential(text) else { return false }
        return credential.isIssued(to: device, of: organization, key: try value(Self.keyName))
    }

    /// Whether the collector issued the credential to that device in a time that a restore has lost: the registry
    /// cannot know its hash.
    ///
    /// An incarnation that the registry has never heard of is one, too: a restore from the same backup began it, and
    /// the next one ended it.
    /// - Parameter newest: the generation that the registry has last issued to the device; 0 where it has issued it
    ///   none.
    func isOfLostTime(
        _ text: String, to device: DeviceID, of organization: String, newest: Int64
    ) throws(SQLiteError) -> Bool {
        guard let credential = DeviceCredential(text) else { return false }
        var ended: [IncarnationID: Int64] = [:]
        let statement = try connection.cached("SELECT id, generation FROM former_incarnation")
        defer { statement.reset() }
        while try statement.step() { if let id = IncarnationID(statement.data(0)) { ended[id] = statement.int64(1) } }
        guard let atRestore = ended.values.max(), newest <= atRestore else { return false }
        guard try credential.incarnation != IncarnationID(value("incarnation_id")) else { return false }
        if let known = ended[credential.incarnation], credential.generation <= UInt64(clamping: known) { return false }
        return credential.isIssued(to: device, of: organization, key: try value(Self.keyName))
    }

    /// The present incarnation ends: what it issues from here on, somewhere else, is not known here.
    func endIncarnation(at now: Int64) throws(SQLiteError) {
        let statement = try connection.cached(
            """
            INSERT OR REPLACE INTO former_incarnation (id, generation, ended)
            SELECT value, (SELECT value FROM meta WHERE name = ?), ? FROM meta WHERE name = 'incarnation_id'
            """)
        try statement.bind(Self.generationName, now)
        try statement.run()
    }

    /// From now on no credential that was issued before proves anything but by its hash.
    func renewKey() throws(SQLiteError) {
        let statement = try connection.cached("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)")
        try statement.bind(Self.keyName, Secret.randomBytes())
        try statement.run()
    }

    private func value(_ name: String) throws(SQLiteError) -> Data {
        let statement = try connection.cached("SELECT value FROM meta WHERE name = ?")
        try statement.bind(name)
        defer { statement.reset() }
        guard try statement.step() else { throw Self.incomplete(connection, name) }
        return statement.data(0)
    }

    private static func incomplete(_ connection: Connection, _ name: String) -> SQLiteError {
        SQLiteError(
            code: .corrupt, message: "\(connection.path): \(name) is not there. Restore a backup.",
            operation: "read meta")
    }
}
