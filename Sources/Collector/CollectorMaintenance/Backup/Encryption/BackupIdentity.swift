import Crypto
import FoundationEssentials
import RecordStore
import TelemetryBasics

/// Somebody who can open encrypted backups: the public half of a ``BackupIdentity``. It is no secret.
///
/// As text it is Bech32, `ws1backup1…`: 68 lower-case characters with a checksum, so that a mistyped one is refused
/// rather than making a backup that nobody can open.
package struct BackupRecipient: Equatable, Sendable, CustomStringConvertible {
    static let prefix = "ws1backup"

    /// 32 bytes: the public key for X25519 (RFC 7748).
    let bytes: [UInt8]

    init(bytes: [UInt8]) { self.bytes = bytes }

    /// - Throws: `.invalid` for a text that is no recipient. The message does not repeat it: it may be a secret.
    package init(_ text: String) throws(StoreError) {
        let remedy = "Give the text that `ws1collector backup-identity` printed: it begins with \(Self.prefix)1."
        let decoded: (prefix: String, bytes: [UInt8])
        do throws(Bech32.Fault) { decoded = try Bech32.decode(text) } catch {
            switch error {
            case .form: throw StoreError(.invalid, "the recipient of the backup has another form. \(remedy)")
            case .checksum:
                throw StoreError(.invalid, "the recipient of the backup is misspelt: its checksum differs. \(remedy)")
            }
        }
        guard decoded.prefix != BackupIdentity.prefix else {
            throw StoreError(
                .invalid,
                "the recipient of the backup is an identity, which is secret and can open backups. Others may now "
                    + "have read it: make a new one with `ws1collector backup-identity`, and give its recipient.")
        }
        guard decoded.prefix == Self.prefix, decoded.bytes.count == 32, text == text.lowercased() else {
            throw StoreError(.invalid, "the recipient of the backup has another form. \(remedy)")
        }
        bytes = decoded.bytes
    }

    package var description: String { Bech32.encode(bytes, prefix: Self.prefix) }
}

/// The secret with which its owner opens backups that are encrypted to its ``BackupRecipient``.
///
/// It is kept in a text file, away from the collector. A line of the file that begins with `#` is a remark, every other
/// one is an identity: `WS1-BACKUP-SECRET-KEY-1…` in Bech32.
package struct BackupIdentity: Sendable, CustomStringConvertible {
    static let prefix = "ws1-backup-secret-key-"

    let key: Curve25519.KeyAgreement.PrivateKey

    /// A new one, by the system's random numbers.
    package init() { key = Curve25519.KeyAgreement.PrivateKey() }

    /// - Throws: `.invalid`. The message does not repeat the text.
    init(_ text: String) throws(StoreError) {
        let decoded: (prefix: String, bytes: [UInt8])
        do throws(Bech32.Fault) { decoded = try Bech32.decode(text) } catch {
            switch error {
            case .form: throw StoreError(.invalid, "it is no identity")
            case .checksum: throw StoreError(.invalid, "the identity is misspelt: its checksum differs")
            }
        }
        guard decoded.prefix != BackupRecipient.prefix else {
            throw StoreError(.invalid, "it is a recipient, which opens nothing")
        }
        guard decoded.prefix == Self.prefix,
            let key = try? Curve25519.KeyAgreement.PrivateKey(rawRepresentation: decoded.bytes)
        else { throw StoreError(.invalid, "it is no identity") }
        self.key = key
    }

    package var recipient: BackupRecipient { BackupRecipient(bytes: Array(key.publicKey.rawRepresentation)) }

    /// The recipient, so that no log shows a secret.
    package var description: String { "the identity of \(recipient)" }

    var secretText: String { Bech32.encode(Array(key.rawRepresentation), prefix: Self.prefix).uppercased() }

    /// The text of its file.
    /// - Parameter time: microseconds since 1970.
    package func fileText(created time: Int64) -> String {
        """
        # Whoever has this file can open backups of ws1collector that are encrypted to the recipient below.
        # created: \(Timestamp.text(time))
        # recipient: \(recipient)
        \(secretText)

        """
    }

    /// The identities of a file, one or more.
    /// - Throws: `.notFound`, `.io`; `.invalid` with the number of the line that is none.
    package static func all(inFile path: String) throws(StoreError) -> [BackupIdentity] {
        guard Paths.exists(path) else {
            throw StoreError(
                .notFound, "\(path) does not exist. Give the file that `ws1collector backup-identity` wrote.")
        }
        let content: [UInt8]
        do { content = try PlainText.read(path) } catch { throw StoreError(error) }
        var identities: [BackupIdentity] = []
        for (place, line) in content.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated()
        {
            let text = String(
                decoding: line.filter { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }, as: UTF8.self)
            if text.isEmpty || text.hasPrefix("#") { continue }
            do { identities.append(try BackupIdentity(text)) } catch {
                throw StoreError(
                    .invalid,
                    "\(path), line \(place + 1): \(error.message). Give the file that `ws1collector backup-identity` "
                        + "wrote.")
            }
        }
        guard !identities.isEmpty else {
            throw StoreError(
                .invalid, "\(path) has no identity. Give the file that `ws1collector backup-identity` wrote.")
        }
        return identities
    }
}
