import Crypto
import FoundationEssentials

/// The bytes of an encrypted backup: `EncryptedBackupWriter` writes them, `EncryptedBackupReader` reads them.
///
/// **What it is for.** A backup lies where others may read or change it. Only owners of an identity can read it, and a
/// file that is not exactly the one that was written is refused. It does not prove who wrote it: a recipient is public,
/// so anybody can encrypt a backup to it.
///
///     header   "ws1backup" 0x00 | version 1 | suite 1 | number of recipients (2)        14 bytes
///              for each recipient: its public key (32) | encapsulated key (32) | sealed file key (32 + 16)
///              HMAC-SHA256 of all that is before (32)
///     blocks   AES-256-GCM of 65,536 bytes, the last one of 1 to 65,536, each with its tag (16)
///
/// Numbers are big-endian. The blocks hold the lines of a backup's manifest, each line of a file with the file's bytes
/// after it (`BackupManifest`).
///
/// **How it is written.** A new random file key of 32 bytes is sealed to each recipient with HPKE (RFC 9180, base
/// mode): DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-256-GCM. Its info is `Domain.fileKey`, its associated data the
/// first 14 bytes and the recipient's public key. HKDF-SHA256 makes two keys of the file key: one for the HMAC, and,
/// with that HMAC as salt, one for the blocks. So a block opens only under its own header. A block's nonce is its
/// number from 0 (11 bytes), then 1 for the last block and 0 for the others: the STREAM construction.
///
/// **What can go wrong.** A block that was changed, moved, doubled or taken from another backup does not open. A file
/// that was cut lacks a block whose nonce says that it is the last one; a file with something behind it has more. A
/// changed header does not match its HMAC. Readers of one backup can make another that looks alike, because they know
/// the file key.
///
/// **What others see.** The version, the recipients, the total size, and what the file system says. Neither names nor
/// the number of files.
enum EncryptedBackupFormat {
    static let magic = Array("ws1backup\0".utf8)
    static let version: UInt8 = 1
    /// X25519, HKDF-SHA256 and AES-256-GCM.
    static let suite: UInt8 = 1

    static let prologueBytes = 14
    static let recipientBytes = 32 + 32 + 48
    static let headerTagBytes = 32
    static let recipientsMaximum = 64

    static let blockBytes = 64 << 10
    static let tagBytes = 16
    /// 256 TiB. AES-GCM is safe for more, but no collector has more.
    static let blocksMaximum: UInt64 = 1 << 32

    static let ciphersuite = HPKE.Ciphersuite(kem: .Curve25519_HKDF_SHA256, kdf: .HKDF_SHA256, aead: .AES_GCM_256)

    enum Domain {
        static let fileKey = Data("ws1collector backup 1: file key".utf8)
        static let header = Data("ws1collector backup 1: header".utf8)
        static let blocks = Data("ws1collector backup 1: blocks".utf8)
    }

    static func prologue(recipients: Int) -> [UInt8] {
        magic + [version, suite, UInt8(recipients >> 8), UInt8(recipients & 0xff)]
    }

    static func headerTag(of header: [UInt8], _ fileKey: SymmetricKey) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: header, using: headerKey(fileKey)))
    }

    /// Compares in constant time.
    static func isHeaderTag(_ tag: [UInt8], of header: [UInt8], _ fileKey: SymmetricKey) -> Bool {
        HMAC<SHA256>.isValidAuthenticationCode(tag, authenticating: header, using: headerKey(fileKey))
    }

    private static func headerKey(_ fileKey: SymmetricKey) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(inputKeyMaterial: fileKey, info: Domain.header, outputByteCount: 32)
    }

    static func blockKey(_ fileKey: SymmetricKey, headerTag: [UInt8]) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: fileKey, salt: headerTag, info: Domain.blocks, outputByteCount: 32)
    }

    static func nonce(_ number: UInt64, isLast: Bool) -> [UInt8] {
        [0, 0, 0] + (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * UInt64($0))) } + [isLast ? 1 : 0]
    }
}
