import Crypto
import FoundationEssentials
import RecordStore
import TelemetryBasics

/// Encrypts what is written, in order, with one block in memory (`EncryptedBackupFormat`).
struct EncryptedBackupWriter: ~Copyable {
    private let file: OpenFile<StoreError>
    private let key: SymmetricKey
    private var number: UInt64 = 0
    private var block: [UInt8] = []

    /// Writes the header.
    /// - Parameters:
    ///   - file: a new file.
    ///   - recipients: 1 to 64.
    /// - Throws: `.invalid` for the number of recipients, or for one that is no key; errors of the disk.
    init(_ file: consuming OpenFile<StoreError>, recipients: [BackupRecipient]) throws(StoreError) {
        guard (1...EncryptedBackupFormat.recipientsMaximum).contains(recipients.count) else {
            throw StoreError(
                .invalid,
                "the backup has \(recipients.count) recipients; expected 1 to "
                    + "\(EncryptedBackupFormat.recipientsMaximum).")
        }
        let fileKey = SymmetricKey(size: .bits256)
        let prologue = EncryptedBackupFormat.prologue(recipients: recipients.count)
        var header = prologue
        for recipient in recipients { header += try Self.sealed(fileKey, to: recipient, prologue) }
        let tag = EncryptedBackupFormat.headerTag(of: header, fileKey)
        try file.write(header + tag)
        self.file = file
        key = EncryptedBackupFormat.blockKey(fileKey, headerTag: tag)
        block.reserveCapacity(EncryptedBackupFormat.blockBytes)
    }

    private static func sealed(
        _ fileKey: SymmetricKey, to recipient: BackupRecipient, _ prologue: [UInt8]
    ) throws(StoreError) -> [UInt8] {
        do {
            let key = try Curve25519.KeyAgreement.PublicKey(rawRepresentation: recipient.bytes)
            // A key of low order gives zeroes with every private key, and HPKE does not refuse it (RFC 7748, 6.1).
            let secret = try Curve25519.KeyAgreement.PrivateKey().sharedSecretFromKeyAgreement(with: key)
            guard secret.withUnsafeBytes({ $0.contains { $0 != 0 } }) else {
                throw CryptoKitError.incorrectParameterSize
            }
            var sender = try HPKE.Sender(
                recipientKey: key, ciphersuite: EncryptedBackupFormat.ciphersuite,
                info: EncryptedBackupFormat.Domain.fileKey)
            let sealed = try sender.seal(
                fileKey.withUnsafeBytes { Data($0) }, authenticating: prologue + recipient.bytes)
            return recipient.bytes + Array(sender.encapsulatedKey) + Array(sealed)
        } catch {
            throw StoreError(
                .invalid,
                "nothing can be encrypted to \(recipient): it is no key that X25519 accepts. Make another with "
                    + "`ws1collector backup-identity`.")
        }
    }

    mutating func write(_ bytes: UnsafeRawBufferPointer) throws(StoreError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            // A full block waits for the next byte: only then is it known not to be the last one.
            if block.count == EncryptedBackupFormat.blockBytes { try seal(isLast: false) }
            let some = rest.prefix(EncryptedBackupFormat.blockBytes - block.count)
            block.append(contentsOf: some)
            rest = rest.dropFirst(some.count)
        }
    }

    mutating func write(_ bytes: Data) throws(StoreError) {
        try bytes.bytes.withUnsafeBytes { (bytes) throws(StoreError) in try write(bytes) }
    }

    /// Everything is on disk when it returns, except the file's name.
    mutating func finish() throws(StoreError) {
        try seal(isLast: true)
        try file.sync()
    }

    private mutating func seal(isLast: Bool) throws(StoreError) {
        guard number < EncryptedBackupFormat.blocksMaximum else {
            throw StoreError(
                .invalid,
                "\(file.path): the backup is larger than 256 TiB, which one key must not encrypt. Make it without "
                    + "--encrypt-to.")
        }
        let sealed: AES.GCM.SealedBox
        do {
            sealed = try AES.GCM.seal(
                block, using: key,
                nonce: AES.GCM.Nonce(data: EncryptedBackupFormat.nonce(number, isLast: isLast)))
        } catch {
            throw StoreError(.internalFault, "\(file.path): block \(number) cannot be encrypted: \(error).")
        }
        let (ciphertext, tag) = (sealed.ciphertext, sealed.tag)
        try file.write(ciphertext.bytes)
        try file.write(tag.bytes)
        number += 1
        block.removeAll(keepingCapacity: true)
    }
}
