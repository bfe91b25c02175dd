import Encryption
import FoundationEssentials

extension DataSampler {
    /// Encrypts data of the program, with AES-256-GCM under a key of this data directory (ws1). The program stores the
    /// result where it likes; it is 38 bytes longer.
    ///
    /// The key is lost with a wipe, and with the data directory. So do not encrypt what cannot be fetched or made
    /// again. The first call, and one in 65,536 later ones, waits for the disk.
    ///
    /// - Throws: `keyUnavailable` if the passcode was not entered or the device key is missing or wrong;
    ///   `wipePending`, `unenrolled`, `queueFull` if no key could be written; `storageDamaged`, `storage`,
    ///   `notRunning`.
    public func encrypt(_ data: Data) throws(DataSamplerError) -> Data {
        let core = try running().core
        let gate = core.gate
        guard !gate.isUnenrolled, !gate.isLeaving else {
            throw DataSamplerError(.unenrolled, "this device was unenrolled: nothing is encrypted any more")
        }
        return try Self.translating { () throws(EncryptionError) in
            try Envelope.seal(data, label: "", with: try core.keys.sealingKey(for: .application))
        }
    }

    /// Decrypts what ``encrypt(_:)`` returned on this device.
    ///
    /// - Throws: `notDecrypted` if it is not that, was changed, or its key was destroyed by a wipe; otherwise as
    ///   ``encrypt(_:)``, without `unenrolled`.
    public func decrypt(_ data: Data) throws(DataSamplerError) -> Data {
        let core = try running().core
        return try Self.translating { () throws(EncryptionError) in
            let id: UInt32
            do throws(EncryptionError) { id = try Envelope.keyID(of: data, purpose: .application) } catch {
                // Whether the keys are at hand does not depend on the data.
                throw core.keys.status.obstacle ?? error
            }
            return try Envelope.open(data, label: "", with: try core.keys.key(id, for: .application))
        }
    }

    /// Gives the passcode that a person entered (ws1). The first one is the passcode from then on. Keys that another
    /// source protected move to it. It takes half a second of a processor.
    ///
    /// - Parameter passcode: 1 to 1,024 bytes. It is kept nowhere; the key is in memory until ``lockKeys()`` or the end
    ///   of the process.
    /// - Throws: `wrongPasscode`; `invalidArgument` for one that is empty or too long, or if
    ///   ``DataSamplerConfiguration/deviceKey`` asks for none; `wipePending`, `queueFull`, `storageDamaged`, `storage`,
    ///   `notRunning`. Then nothing has changed.
    public func enterPasscode(_ passcode: String) async throws(DataSamplerError) {
        try await Self.blocking(try running().core.keys) { (keys) throws(EncryptionError) in
            try keys.enter(passcode: passcode)
        }
        await keysAvailable()
    }

    /// Replaces the passcode. What was encrypted stays as it is.
    ///
    /// - Throws: as ``enterPasscode(_:)``; `invalidArgument` if there is no passcode yet.
    public func changePasscode(from former: String, to passcode: String) async throws(DataSamplerError) {
        try await Self.blocking(try running().core.keys) { (keys) throws(EncryptionError) in
            try keys.change(passcode: former, to: passcode)
        }
        await keysAvailable()
    }

    /// Forgets the keys until the passcode is entered again. Does nothing if another source protects them.
    ///
    /// From then on what is encrypted on this device cannot be read: nothing is sent, and new records wait in memory.
    ///
    /// - Throws: `notRunning`.
    public func lockKeys() throws(DataSamplerError) {
        let core = try running().core
        core.keys.lock()
        if core.keys.status.obstacle != nil { core.seal.forget() }
    }

    /// Who protects the keys, whether they can be used, and which there are; never a key.
    ///
    /// - Throws: `notRunning`.
    public func keyStatus() throws(DataSamplerError) -> DataSamplerKeyStatus {
        DataSamplerKeyStatus(try running().core.keys.status)
    }

    private static func translating<Result>(
        _ body: () throws(EncryptionError) -> Result
    ) throws(DataSamplerError) -> Result {
        do { return try body() } catch { throw DataSamplerError(error) }
    }

    /// A derivation takes half a second, which no thread of Swift's pool should spend for one caller.
    private static func blocking(
        _ keys: KeyRing, _ body: @escaping @Sendable (KeyRing) throws(EncryptionError) -> Void
    ) async throws(DataSamplerError) {
        let result: Result<Void, EncryptionError> = await PasscodeWorker.shared.run {
            do throws(EncryptionError) { return .success(try body(keys)) } catch { return .failure(error) }
        }
        if case .failure(let error) = result { throw DataSamplerError(error) }
    }
}

/// The state of a data directory's keys.
public struct DataSamplerKeyStatus: Codable, Equatable, Sendable {
    /// Who protects the keys: `file`, `systemd`, `host` or `passcode`. Others may be added.
    public let provider: String
    /// Why nothing can be encrypted or decrypted now, and what to do; `nil`: it can.
    public let obstacle: String?
    /// The keys, without their secrets. There are none until something is encrypted.
    public let keys: [Key]

    /// A key.
    public struct Key: Codable, Equatable, Sendable {
        /// Its number, which encrypted data names.
        public let id: UInt32
        /// What it is for, such as `application`.
        public let purpose: String
        /// Says which key it is, and discloses nothing else.
        public let fingerprint: String
        /// When it was made, seconds since 1970.
        public let created: Int64
    }

    init(_ status: KeyRing.Status) {
        provider = status.provider.rawValue
        obstacle = status.obstacle?.message
        keys = status.keys.map {
            Key(id: $0.id, purpose: $0.purpose, fingerprint: $0.fingerprint, created: $0.created)
        }
    }
}

extension DataSamplerError {
    /// Translates an error of the keys. A key that is not at hand is never damage: the same may succeed later.
    init(_ error: EncryptionError) {
        let code: Code =
            switch error.code {
            case .locked, .keyMissing, .wrongKey, .exposed: .keyUnavailable
            case .wrongPasscode: .wrongPasscode
            case .keyGone, .altered, .notSealed: .notDecrypted
            case .destroyed: .wipePending
            case .diskFull: .queueFull
            case .damaged: .storageDamaged
            case .newerVersion, .io: .storage
            case .invalid: .invalidArgument
            }
        self.init(code, error.message, cause: error)
    }
}
