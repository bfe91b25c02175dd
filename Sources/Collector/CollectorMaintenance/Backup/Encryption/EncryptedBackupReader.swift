import Crypto
import FoundationEssentials
import RecordStore
import TelemetryBasics

/// Decrypts a backup in order, with one block in memory (`EncryptedBackupFormat`). It gives out no byte of a block that
/// is not exactly what was written in this place.
struct EncryptedBackupReader: ~Copyable {
    private let file: OpenFile<StoreError>
    private let key: SymmetricKey
    /// Of the file.
    private let byteCount: Int
    private var offset: Int
    private var number: UInt64 = 0
    private var block = Data()
    private var hasLast = false

    /// Whether the file begins like an encrypted backup.
    static func isEncrypted(_ path: String) throws(StoreError) -> Bool {
        try Files<StoreError>.read(path, maximumBytes: EncryptedBackupFormat.magic.count) == EncryptedBackupFormat.magic
    }

    /// Reads the header, and opens the file key with the first identity that it is for.
    /// - Throws: `.notFound`; `.invalid` if it is for none of the identities; `.corrupt`, `.newerVersion`, `.io`.
    init(_ path: String, identities: [BackupIdentity]) throws(StoreError) {
        guard let file = try OpenFile<StoreError>.reading(path, flags: 0) else {
            throw StoreError(.notFound, "\(path) does not exist.")
        }
        let header = try EncryptedBackupHeader(file)
        let opened = try header.open(with: identities, path)
        byteCount = try file.byteCount()
        offset = header.bytes.count + header.tag.count
        key = EncryptedBackupFormat.blockKey(opened, headerTag: header.tag)
        self.file = file
    }

    /// The next bytes, at most so many; empty at the end of the backup.
    /// - Throws: `.corrupt` with the place, `.io`.
    mutating func read(_ count: Int) throws(StoreError) -> Data {
        if block.isEmpty {
            guard !hasLast else { return Data() }
            try readBlock()
        }
        let some = block.prefix(count)
        block = block.dropFirst(some.count)
        return some
    }

    /// The next bytes up to a line feed, without it.
    /// - Throws: `.corrupt` if there is none within so many bytes; errors of `read`.
    mutating func readLine(maximumBytes: Int) throws(StoreError) -> Data {
        var line = Data()
        while line.count <= maximumBytes {
            let feed = block.firstIndex(of: UInt8(ascii: "\n"))
            let some = try read(feed.map { $0 - block.startIndex + 1 } ?? max(block.count, 1))
            if some.isEmpty { break }
            line += some
            if line.last == UInt8(ascii: "\n") { return line.dropLast() }
        }
        throw StoreError(
            .corrupt, "\(file.path): the backup has a line that this program does not understand. Use another backup.")
    }

    private mutating func readBlock() throws(StoreError) {
        let whole = EncryptedBackupFormat.blockBytes + EncryptedBackupFormat.tagBytes
        let sealed = try file.read(min(whole, max(byteCount - offset, 0)), at: offset)
        let isAtEnd = offset + sealed.count >= byteCount
        guard let opened = open(sealed, isLast: isAtEnd) else {
            throw StoreError(.corrupt, "\(file.path): \(fault(sealed, isAtEnd: isAtEnd)). Use another backup.")
        }
        offset += sealed.count
        number += 1
        hasLast = isAtEnd
        block = opened
    }

    private func open(_ sealed: [UInt8], isLast: Bool) -> Data? {
        guard sealed.count >= EncryptedBackupFormat.tagBytes,
            let nonce = try? AES.GCM.Nonce(data: EncryptedBackupFormat.nonce(number, isLast: isLast)),
            let box = try? AES.GCM.SealedBox(
                nonce: nonce, ciphertext: sealed.dropLast(EncryptedBackupFormat.tagBytes),
                tag: sealed.suffix(EncryptedBackupFormat.tagBytes))
        else { return nil }
        return try? AES.GCM.open(box, using: key)
    }

    /// What became of the block, as far as its other nonce tells.
    private func fault(_ sealed: [UInt8], isAtEnd: Bool) -> String {
        if isAtEnd, sealed.isEmpty || open(sealed, isLast: false) != nil {
            return "the backup ends after \(byteCount) bytes, before its last block: it was cut off"
        }
        if !isAtEnd, open(sealed, isLast: true) != nil {
            return "there are bytes behind the last block, which ends at byte \(offset + sealed.count)"
        }
        let end = isAtEnd ? ", or the file was cut off in it" : ""
        return "block \(number), at byte \(offset), was changed or is in another's place\(end)"
    }
}

/// The header of an encrypted backup, read and not yet opened.
struct EncryptedBackupHeader {
    /// Without the HMAC.
    let bytes: [UInt8]
    let tag: [UInt8]
    let recipients: [BackupRecipient]

    /// - Throws: `.corrupt`, `.newerVersion`, `.io`.
    init(_ file: borrowing OpenFile<StoreError>) throws(StoreError) {
        let path = file.path
        let prologue = try file.read(EncryptedBackupFormat.prologueBytes, at: 0)
        guard prologue.count == EncryptedBackupFormat.prologueBytes, prologue.starts(with: EncryptedBackupFormat.magic)
        else { throw StoreError(.corrupt, "\(path) is no encrypted backup: it does not begin like one.") }
        let (version, suite) = (prologue[10], prologue[11])
        guard version == EncryptedBackupFormat.version, suite == EncryptedBackupFormat.suite else {
            throw StoreError(
                .newerVersion,
                "\(path) has version \(version), suite \(suite) of encrypted backups, and this program reads version "
                    + "\(EncryptedBackupFormat.version), suite \(EncryptedBackupFormat.suite). Restore the backup with "
                    + "the version that made it.")
        }
        let count = Int(prologue[12]) << 8 | Int(prologue[13])
        guard (1...EncryptedBackupFormat.recipientsMaximum).contains(count) else {
            throw StoreError(.corrupt, "\(path): its header is damaged: \(count) recipients. Use another backup.")
        }
        let stanzaBytes = count * EncryptedBackupFormat.recipientBytes
        let rest = try file.read(stanzaBytes + EncryptedBackupFormat.headerTagBytes, at: prologue.count)
        guard rest.count == stanzaBytes + EncryptedBackupFormat.headerTagBytes else {
            throw StoreError(
                .corrupt,
                "\(path) ends in its header, after \(prologue.count + rest.count) bytes: it was cut off. Use another "
                    + "backup.")
        }
        bytes = prologue + rest.prefix(stanzaBytes)
        tag = Array(rest.suffix(EncryptedBackupFormat.headerTagBytes))
        recipients = stride(from: 0, to: stanzaBytes, by: EncryptedBackupFormat.recipientBytes).map {
            BackupRecipient(bytes: Array(rest[$0..<$0 + 32]))
        }
    }

    /// - Returns: the file key.
    /// - Throws: `.invalid` if the backup is for none of the identities; `.corrupt` if the header was changed.
    func open(with identities: [BackupIdentity], _ path: String) throws(StoreError) -> SymmetricKey {
        var isForOne = false
        for (place, recipient) in recipients.enumerated() {
            for identity in identities where identity.recipient == recipient {
                isForOne = true
                guard let key = fileKey(at: place, identity) else { continue }
                guard EncryptedBackupFormat.isHeaderTag(tag, of: bytes, key) else { throw Self.changed(path) }
                return key
            }
        }
        guard !isForOne else { throw Self.changed(path) }
        throw StoreError(
            .invalid,
            "\(path) is encrypted to \(Self.list(recipients)), and the identities given are those of "
                + "\(Self.list(identities.map(\.recipient))). Give the file with an identity of the former.")
    }

    private static func changed(_ path: String) -> StoreError {
        StoreError(.corrupt, "\(path): its header was changed or is damaged. Use another backup.")
    }

    static func list(_ recipients: [BackupRecipient]) -> String {
        recipients.map(\.description).joined(separator: ", ")
    }

    private func fileKey(at place: Int, _ identity: BackupIdentity) -> SymmetricKey? {
        let stanza = bytes.dropFirst(
            EncryptedBackupFormat.prologueBytes + place * EncryptedBackupFormat.recipientBytes
        ).prefix(EncryptedBackupFormat.recipientBytes)
        let prologue = bytes.prefix(EncryptedBackupFormat.prologueBytes)
        do {
            var recipient = try HPKE.Recipient(
                privateKey: identity.key, ciphersuite: EncryptedBackupFormat.ciphersuite,
                info: EncryptedBackupFormat.Domain.fileKey, encapsulatedKey: Data(stanza.dropFirst(32).prefix(32)))
            let key = try recipient.open(
                stanza.dropFirst(64), authenticating: prologue + identity.recipient.bytes)
            return SymmetricKey(data: key)
        } catch {
            return nil
        }
    }
}
