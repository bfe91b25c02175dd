import Crypto
import FoundationEssentials
import RecordStore
import WireModel

/// A device's credential. Its collector can recognize it even after it has lost the device's row.
///
/// **What it is for.** The collector identifies a device by the stored hash of its credential. A restore from an older
/// backup loses the hashes written since. A device of that time enrolls again with its id and credential, and the
/// collector must decide whether the id is its own. Without a proof, anybody with an enrollment token and a device's id
/// could become that device. So each credential has a proof of its own: a MAC.
///
/// **Layout.** `ws1d_` and, in base64url, 73 bytes:
///
///     version (1)  incarnation (16)  generation (8)  random (16)  MAC (32)
///
/// The incarnation is the collector's when it issued the credential. The generation is a counter that grows with each
/// credential and goes on after a restore. The MAC is HMAC-SHA256 with the credential key, over all of this and over
/// the device's id and organization, which the credential does not contain. The random bytes make the credential
/// unpredictable.
///
/// **The key** is 32 random bytes in `collector.sqlite`, so that `backup` copies it with the data.
///
/// **What is checked, and when.**
/// - For requests with a credential (batches, profile, rotation) only the hash counts.
/// - For enrolling again with a valid enrollment token, the hash proves a known id. Without the hash, the MAC proves it
///   if the credential is from the time that a restore lost (`CredentialLedger.isOfLostTime`): from an ended
///   incarnation, and newer than the newest credential in the backup. The collector must also not have issued a
///   credential to a known device since the restore.
/// - A device with an unknown id and without such a proof gets a new id.
/// - A revoked or deleted device stays out (403 `revoked`), even with a proof.
/// - Older collectors issued credentials without a MAC. Their hash is valid until they are rotated. Without the hash
///   they prove nothing.
///
/// **What somebody with a stolen backup can do.** The backup has the key, so it is as secret as the data directory. At
/// a collector that was never restored, MACs do not count and the key is useless. At a restored one, the key together
/// with a valid enrollment token of the organization acquires ids that the collector does not know, or to which it has
/// issued no credential since the restore. If others may have read the backup, use `ws1collector restore
/// --new-credential-key`. It makes another key, and devices enrolled since the backup become new ones.
///
/// **Why not** admit by the MAC alone, without enrolling? A device that was enrolled and revoked in the lost time would
/// be back at once, and no administrator could close a token against it. Why not a signature? The collector would hold
/// its private key in the same file. Why a counter and not the time of issue? After a clock was set back, credentials
/// of the lost time would look older than the backup.
struct DeviceCredential: Equatable, Sendable {
    static let version: UInt8 = 1
    static let byteCount = 73
    private static let signedByteCount = 41
    private static let domain = Data("ws1 device credential\u{0}".utf8)

    let incarnation: IncarnationID
    let generation: UInt64
    private let signed: Data
    private let mac: Data

    /// Makes a new credential.
    init(incarnation: IncarnationID, generation: UInt64, device: DeviceID, organization: String, key: Data) {
        var signed = Data([Self.version])
        signed.append(incarnation.data)
        withUnsafeBytes(of: generation.bigEndian) { signed.append(contentsOf: $0) }
        signed.append(Secret.randomBytes().prefix(16))
        self.incarnation = incarnation
        self.generation = generation
        self.signed = signed
        mac = Data(
            HMAC<SHA256>.authenticationCode(
                for: Self.message(signed, device: device, organization: organization), using: SymmetricKey(data: key)))
    }

    /// `nil` for a text of another form, such as a credential from before this format.
    init?(_ text: String) {
        guard let bytes = Secret.bytes(of: text, .device), bytes.count == Self.byteCount, bytes.first == Self.version
        else { return nil }
        let fields = Data(bytes)
        guard let incarnation = IncarnationID(fields[1..<17]) else { return nil }
        self.incarnation = incarnation
        generation = fields[17..<25].reduce(0) { $0 << 8 | UInt64($1) }
        signed = fields.prefix(Self.signedByteCount)
        mac = fields.suffix(from: Self.signedByteCount)
    }

    var secret: Secret { Secret(.device, bytes: signed + mac) }

    /// Whether the key's owner issued it to this device in this organization.
    func isIssued(to device: DeviceID, of organization: String, key: Data) -> Bool {
        HMAC<SHA256>.isValidAuthenticationCode(
            mac, authenticating: Self.message(signed, device: device, organization: organization),
            using: SymmetricKey(data: key))
    }

    /// The organization comes last, because only this field has a variable length.
    private static func message(_ signed: Data, device: DeviceID, organization: String) -> Data {
        domain + signed + device.data + Data(organization.utf8)
    }
}

/// The credential key, the counter and the ended incarnations in `collector.sqlite`. Not `Sendable`: the owner of its
/// connection uses it inside its transactions.
struct CredentialLedger {
    static let keyName = "credential_key"
    static let generationName = "credential_generation"

    let connection: any RegistrySession

    /// Issues a credential of the next generation for a device.
    func issue(
        to device: DeviceID, of organization: String
    ) throws(StoreError) -> (secret: Secret, generation: Int64) {
        let next = try connection.first(
            "UPDATE meta SET number = number + 1 WHERE name = ? RETURNING number", Self.generationName
        ) { $0.int64(0) }
        guard let generation = next else { throw Self.incomplete(connection, Self.generationName) }
        guard let incarnation = IncarnationID(try value("incarnation_id")) else {
            throw Self.incomplete(connection, "incarnation_id")
        }
        let credential = DeviceCredential(
            incarnation: incarnation, generation: UInt64(generation), device: device, organization: organization,
            key: try value(Self.keyName))
        return (credential.secret, generation)
    }

    /// Whether this collector, or a branch of it that a restore ended, issued the credential to that device.
    func isIssued(_ text: String, to device: DeviceID, of organization: String) throws(StoreError) -> Bool {
        guard let credential = DeviceCredential(text) else { return false }
        return credential.isIssued(to: device, of: organization, key: try value(Self.keyName))
    }

    /// Whether the collector issued the credential to that device in a time that a restore has lost, and so cannot
    /// know its hash.
    ///
    /// An unknown incarnation counts too: a restore from the same backup began it, and the next restore ended it.
    /// - Parameter newest: the last generation that the collector issued to the device; 0 for none.
    func isOfLostTime(
        _ text: String, to device: DeviceID, of organization: String, newest: Int64
    ) throws(StoreError) -> Bool {
        guard let credential = DeviceCredential(text) else { return false }
        let rows = try connection.rows("SELECT id, generation FROM former_incarnation") { row in
            IncarnationID(row.data(0)).map { ($0, row.int64(1)) }
        }
        let ended = Dictionary(rows) { first, _ in first }
        guard let atRestore = ended.values.max(), newest <= atRestore else { return false }
        guard try credential.incarnation != IncarnationID(value("incarnation_id")) else { return false }
        if let known = ended[credential.incarnation], credential.generation <= UInt64(clamping: known) { return false }
        return credential.isIssued(to: device, of: organization, key: try value(Self.keyName))
    }

    /// Ends the present incarnation. What it issues from here on elsewhere is not known here.
    func endIncarnation(at now: Int64) throws(StoreError) {
        try connection.run(
            """
            INSERT INTO former_incarnation (id, generation, ended)
            SELECT value, (SELECT number FROM meta WHERE name = ?), ? FROM meta WHERE name = 'incarnation_id'
            ON CONFLICT (id) DO UPDATE SET generation = excluded.generation, ended = excluded.ended
            """, Self.generationName, now)
    }

    /// Makes a new key. From now on, a credential that was issued before proves nothing except by its hash.
    func renewKey() throws(StoreError) {
        try connection.setMeta(Self.keyName, to: Secret.randomBytes())
    }

    private func value(_ name: String) throws(StoreError) -> Data {
        let value = try connection.first("SELECT value FROM meta WHERE name = ?", name) { $0.data(0) }
        guard let value else { throw Self.incomplete(connection, name) }
        return value
    }

    private static func incomplete(_ connection: any RegistrySession, _ name: String) -> StoreError {
        StoreError(.corrupt, "\(connection.name): \(name) is missing. Restore a backup.")
    }
}
