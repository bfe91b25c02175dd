import Crypto
import FoundationEssentials

/// Sealed bytes without a place of their own: data of the application, a whole state file.
///
///     0     4         5         6           10        22                 n-16
///     │WS1S │ version │ purpose │ key id    │ nonce   │ ciphertext       │ tag
///
/// The first 10 bytes and the label are authenticated. `Schemas/encryption/FORMAT.md` describes the form.
package enum Envelope {
    private static let magic = Data("WS1S".utf8)
    private static let version: UInt8 = 1
    private static let headBytes = 10
    /// How much longer an envelope is than what it holds.
    package static let overhead = headBytes + 12 + 16

    /// Whether the bytes begin as an envelope does; whether they open is another question.
    package static func isEnvelope(_ bytes: Data) -> Bool { bytes.prefix(magic.count) == magic }

    /// - Parameter label: the place that the bytes are for, such as a file's name; they open with the same one only.
    package static func seal(_ plain: Data, label: String, with key: DataKey) throws(EncryptionError) -> Data {
        var envelope = magic
        envelope.reserveCapacity(plain.count + overhead)
        envelope.append(version)
        envelope.append(key.purpose.rawValue)
        envelope.append(bigEndian: key.id)
        envelope.append(try GCM.seal(plain, authenticating: envelope + Data(label.utf8), with: key.secret))
        return envelope
    }

    /// The id of the key that sealed the bytes.
    ///
    /// - Throws: `notSealed`, `newerVersion`.
    package static func keyID(of envelope: Data, purpose: KeyPurpose) throws(EncryptionError) -> UInt32 {
        guard envelope.count >= overhead, envelope.prefix(4) == magic else {
            throw EncryptionError(.notSealed, "these \(envelope.count) bytes were not made by encrypt: pass its result")
        }
        let head = Data(envelope.prefix(headBytes))
        guard head[4] == version else {
            throw EncryptionError(
                .newerVersion,
                "the bytes were sealed in version \(head[4]), this program knows version \(version): update the program"
            )
        }
        guard head[5] == purpose.rawValue else {
            throw EncryptionError(.notSealed, "the bytes were not sealed for the purpose \(purpose)")
        }
        return head.bigEndian(at: 6, as: UInt32.self)
    }

    /// - Throws: `altered`, and as ``keyID(of:purpose:)``.
    package static func open(_ envelope: Data, label: String, with key: DataKey) throws(EncryptionError) -> Data {
        guard try keyID(of: envelope, purpose: key.purpose) == key.id else {
            throw EncryptionError(.keyGone, "the bytes were sealed with another key than \(key.id)")
        }
        let head = envelope.prefix(headBytes) + Data(label.utf8)
        return try GCM.open(envelope.dropFirst(headBytes), authenticating: head, with: key.secret)
    }
}

/// AES-256-GCM as all sealed forms use it.
enum GCM {
    /// - Returns: nonce (12, random), ciphertext, tag (16).
    static func seal(
        _ plain: some DataProtocol, authenticating data: some DataProtocol, with key: SymmetricKey
    ) throws(EncryptionError) -> Data {
        do {
            // With a nonce of 12 bytes there is always a combined form.
            if let sealed = try AES.GCM.seal(plain, using: key, authenticating: data).combined { return sealed }
        } catch {
            throw EncryptionError(.invalid, "\(plain.count) bytes cannot be sealed: \(error)", cause: error)
        }
        throw EncryptionError(.invalid, "\(plain.count) bytes cannot be sealed")
    }

    /// - Throws: `altered`.
    static func open(
        _ sealed: Data, authenticating data: some DataProtocol, with key: SymmetricKey
    ) throws(EncryptionError) -> Data {
        do { return try AES.GCM.open(AES.GCM.SealedBox(combined: sealed), using: key, authenticating: data) } catch {
            throw altered(error)
        }
    }

    static func altered(_ cause: any Error) -> EncryptionError {
        EncryptionError(.altered, "the bytes are not what was sealed, or were sealed for another place", cause: cause)
    }
}
