import Crypto
import FoundationEssentials

/// One uninterrupted writing of log blocks or frames under a subkey of its own.
///
///     head:   WS1L │ version (1) │ key id (4) │ salt (32)
///     block:  length (4) │ ciphertext (length) │ tag (16)
///
/// The subkey is new with each run, so the nonce may be the block's number. A run that was read back cannot be gone on
/// with: only ``Writer`` seals, and it begins with a fresh salt. `Schemas/encryption/FORMAT.md` describes the form.
package enum SealedLogRun {
    private static let magic = Data("WS1L".utf8)
    private static let version: UInt8 = 1
    private static let saltBytes = 32
    package static let headBytes = 4 + 1 + 4 + saltBytes
    /// How much longer a block is than its text.
    package static let blockOverhead = 4 + 16

    /// Seals the blocks of a run, one after the other. Not shared between threads.
    package struct Writer: ~Copyable {
        /// The run's first bytes.
        package let head: Data
        private let state: Run
        private var next: UInt64 = 0

        /// - Parameter segment: the ordinal of the segment that the blocks are for.
        package init(segment: UInt64, key: DataKey) {
            // A symmetric key is random bytes of the system's generator.
            let salt = SymmetricKey(size: .bits256).withUnsafeBytes { Data($0) }
            var head = SealedLogRun.magic
            head.append(SealedLogRun.version)
            head.append(bigEndian: key.id)
            head.append(salt)
            self.head = head
            state = Run(head: head, segment: segment, key: key)
        }

        /// - Parameter isLast: of a sealed segment; a frame of an active one is never the last.
        package mutating func seal(_ text: Data, isLast: Bool = false) throws(EncryptionError) -> Data {
            guard let length = UInt32(exactly: text.count) else {
                throw EncryptionError(.invalid, "a block of \(text.count) bytes cannot be sealed: split it")
            }
            let block: Data
            do {
                let sealed = try AES.GCM.seal(
                    text, using: state.subkey, nonce: try Run.nonce(next),
                    authenticating: state.authenticated(next, isLast: isLast, length: length))
                var bytes = Data(capacity: text.count + SealedLogRun.blockOverhead)
                bytes.append(bigEndian: length)
                bytes.append(sealed.ciphertext)
                bytes.append(sealed.tag)
                block = bytes
            } catch {
                throw EncryptionError(.invalid, "a block of \(text.count) bytes cannot be sealed", cause: error)
            }
            next += 1
            return block
        }
    }

    /// The key id in a run's head.
    ///
    /// - Throws: `notSealed`, `newerVersion`.
    package static func keyID(of head: Data) throws(EncryptionError) -> UInt32 {
        guard head.count >= headBytes, head.prefix(4) == magic else {
            throw EncryptionError(.notSealed, "these are not the first bytes of sealed log blocks")
        }
        let head = Data(head.prefix(headBytes))
        guard head[4] == version else {
            throw EncryptionError(
                .newerVersion,
                "the blocks were sealed in version \(head[4]), this program knows version \(version): update the "
                    + "program"
            )
        }
        return head.bigEndian(at: 5, as: UInt32.self)
    }

    /// Opens blocks in any order.
    package struct Reader: Sendable {
        private let state: Run

        /// - Parameter head: the run's first ``SealedLogRun/headBytes`` bytes.
        /// - Throws: as ``SealedLogRun/keyID(of:)``; `keyGone` if another key sealed the run.
        package init(head: Data, segment: UInt64, key: DataKey) throws(EncryptionError) {
            guard try SealedLogRun.keyID(of: head) == key.id else {
                throw EncryptionError(.keyGone, "the blocks were sealed with another key than \(key.id)")
            }
            state = Run(head: Data(head.prefix(SealedLogRun.headBytes)), segment: segment, key: key)
        }

        /// The bytes of a block that begins with these four, its length and tag included; `nil`: fewer are there.
        package static func size(ofBlock start: Data) -> Int? {
            guard start.count >= 4 else { return nil }
            return Int(Data(start.prefix(4)).bigEndian(at: 0, as: UInt32.self)) + SealedLogRun.blockOverhead
        }

        /// - Parameters:
        ///   - number: the block's place in the run, from 0.
        ///   - isLast: as it was sealed.
        /// - Throws: `altered`; also for a block that is torn.
        package func open(_ block: Data, number: UInt64, isLast: Bool = false) throws(EncryptionError) -> Data {
            guard let size = Self.size(ofBlock: block), size == block.count else {
                throw EncryptionError(.altered, "block \(number) is torn or was changed")
            }
            do {
                let box = try AES.GCM.SealedBox(
                    nonce: try Run.nonce(number), ciphertext: block.dropFirst(4).dropLast(16), tag: block.suffix(16))
                return try AES.GCM.open(
                    box, using: state.subkey,
                    authenticating: state.authenticated(
                        number, isLast: isLast, length: UInt32(size - SealedLogRun.blockOverhead)))
            } catch {
                throw GCM.altered(error)
            }
        }
    }

    private struct Run: Sendable {
        let subkey: SymmetricKey
        private let place: Data

        init(head: Data, segment: UInt64, key: DataKey) {
            subkey = HKDF<SHA256>.deriveKey(
                inputKeyMaterial: key.secret, salt: head.suffix(SealedLogRun.saltBytes), info: Data("ws1 log 1".utf8),
                outputByteCount: 32)
            var place = head
            place.append(bigEndian: segment)
            self.place = place
        }

        func authenticated(_ number: UInt64, isLast: Bool, length: UInt32) -> Data {
            var data = place
            data.append(bigEndian: number)
            data.append(isLast ? 1 : 0)
            data.append(bigEndian: length)
            return data
        }

        static func nonce(_ number: UInt64) throws -> AES.GCM.Nonce {
            var bytes = Data(repeating: 0, count: 4)
            bytes.append(bigEndian: number)
            return try AES.GCM.Nonce(data: bytes)
        }
    }
}
