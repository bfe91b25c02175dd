import Crypto
import Glibc
import Logging
import Synchronization
import TelemetryBasics

/// Passcode, lock, wipe and status.
extension KeyRing {
    // MARK: Passcode

    /// Opens the keys with the passcode that a person entered. If there are no keys yet, or if they move from another
    /// provider to the passcode, this is the passcode from now on. Takes half a second of a processor.
    ///
    /// - Throws: `wrongPasscode`; `invalid` if it is empty, too long, or if no passcode is asked for; and why the keys
    ///   cannot be read. Then nothing has changed.
    package func enter(passcode text: String) throws(EncryptionError) {
        let content = try file.read()
        let isSet = content?.provider == .passcode
        guard isSet || provider.kind == .passcode else {
            throw EncryptionError(.invalid, "the keys have no passcode: their provider is \(provider.kind.rawValue)")
        }
        // Half a second, outside of the lock.
        let parameters = (isSet ? content?.passcode : nil) ?? makeParameters()
        let key = try parameters.key(of: text)
        try state.withLock { (state) throws(EncryptionError) in
            if case .destroyed = state { _ = try open(state) }
            if isSet {
                guard key.fingerprint == content?.device else { throw Self.wrongPasscode }
                passcode.set(key)
                state = .open(try open(state))
                return
            }
            var ring: Ring
            if content == nil {
                guard try file.read() == nil else { throw Self.changedMeanwhile }
                passcode.set(key)
                ring = try begin()
            } else {
                ring = try open(state)
            }
            do throws(EncryptionError) {
                // On disk at once: the salt belongs to the passcode.
                try rewrap(&ring, key, .passcode, parameters)
            } catch {
                passcode.destroy()
                throw error
            }
            passcode.set(key)
            state = .open(ring)
            try removeLeftovers(ring)
        }
    }

    /// Replaces the passcode; no data is sealed anew.
    ///
    /// - Throws: as ``enter(passcode:)``.
    package func change(passcode former: String, to text: String) throws(EncryptionError) {
        guard let content = try file.read(), content.provider == .passcode else {
            throw EncryptionError(.invalid, "the keys have no passcode yet: enter one")
        }
        try enter(passcode: former)
        let fresh = makeParameters()
        let key = try fresh.key(of: text)
        try withRing { (ring) throws(EncryptionError) in
            guard ring.content.device == content.device else { throw Self.changedMeanwhile }
            try rewrap(&ring, key, .passcode, fresh)
            passcode.set(key)
        }
    }

    /// Forgets the keys of a passcode until it is entered again. Does nothing with another provider, whose key is at
    /// hand anyway.
    package func lock() {
        state.withLock { state in
            guard case .open(let ring) = state, ring.content.provider == .passcode else { return }
            passcode.destroy()
            state = .closed
        }
    }

    private static let wrongPasscode = EncryptionError(
        .wrongPasscode, "this is not the passcode. The keys are whole; enter it again.")
    private static let changedMeanwhile = EncryptionError(
        .invalid, "the passcode was changed meanwhile: try again")

    // MARK: Destroying

    /// A key that was destroyed, for a certificate.
    package struct DestroyedKey: Codable, Equatable, Sendable {
        package let id: UInt32
        package let purpose: String
        package let fingerprint: String

        package init(id: UInt32, purpose: String, fingerprint: String) {
            (self.id, self.purpose, self.fingerprint) = (id, purpose, fingerprint)
        }
    }

    /// What ``destroy()`` is about to destroy. It holds no secret.
    package struct Inventory: Codable, Equatable, Sendable {
        /// Whose device key wraps; `nil` if the file could not be read.
        package let provider: DeviceKeyProviderKind?
        /// Fingerprint of the device key; `nil` if the file could not be read.
        package let device: String?
        package let keys: [DestroyedKey]

        package init(provider: DeviceKeyProviderKind?, device: String?, keys: [DestroyedKey]) {
            (self.provider, self.device, self.keys) = (provider, device, keys)
        }
    }

    /// The keys as they are, for somebody who notes them before ``destroy()``. Needs no device key. A key that is made
    /// afterwards is among those that `destroy` returns.
    ///
    /// - Returns: `nil` if there are none.
    package func inventory() -> Inventory? {
        state.withLock { _ in
            do throws(EncryptionError) {
                guard let content = try file.read() else { return nil }
                return Inventory(
                    provider: content.provider, device: content.device, keys: Self.destroyed(content))
            } catch {
                logger.error("the keys to destroy cannot be listed", metadata: ["reason": "\(error.message)"])
                return Inventory(provider: nil, device: nil, keys: [])
            }
        }
    }

    /// Whether a key file with a device key is still there, because ``destroy()`` was not allowed to change it.
    package var isKeyFileLeft: Bool {
        ([provider] + others).contains { provider in
            guard provider.kind == .file else { return false }
            do throws(EncryptionError) { return try provider.load() != nil } catch { return true }
        }
    }

    private static func destroyed(_ content: KeysFile.Content?) -> [DestroyedKey] {
        (content?.keys ?? []).map { DestroyedKey(id: $0.id, purpose: $0.purpose, fingerprint: $0.fingerprint) }
    }

    /// Destroys the device key, as far as it is ours, and all data keys. Needs no device key. From then on nothing is
    /// sealed or opened until ``renew()``. Harmless twice; a kill in between leaves the rest for the next call.
    ///
    /// - Returns: the keys that were there; none if the file could not be read.
    @discardableResult package func destroy() throws(EncryptionError) -> [DestroyedKey] {
        try state.withLock { (state) throws(EncryptionError) in
            state = .destroyed
            return try file.exclusively { () throws(EncryptionError) in
                let content = (try? file.read()) ?? nil
                var failure: EncryptionError?
                for provider in [provider] + others {
                    do throws(EncryptionError) { try provider.destroy() } catch {
                        logger.error("a device key is not destroyed", metadata: ["reason": "\(error.message)"])
                        // One that this program may not change is its owner's. Then the wrapped keys are what goes.
                        let reason = (error.cause as? FileError)?.systemError
                        if ![EACCES, EPERM, EROFS].contains(reason) { failure = error }
                    }
                    file.reached(.deviceKeyDestroyed)
                }
                try file.destroy()
                if let failure { throw failure }
                return Self.destroyed(content)
            }
        }
    }

    /// A wipe is over: keys may be made again.
    package func renew() {
        state.withLock { state in if case .destroyed = state { state = .closed } }
    }

    // MARK: Status

    /// What somebody may see of the keys: never a key.
    package struct Status: Sendable {
        package let provider: DeviceKeyProviderKind
        /// Why nothing can be sealed or opened; `nil`: it can.
        package let obstacle: EncryptionError?
        package let keys: [Key]

        package struct Key: Sendable {
            package let id: UInt32
            package let purpose: String
            package let fingerprint: String
            /// Seconds since 1970.
            package let created: Int64
        }
    }

    /// The present state. Opens the keys if that is possible, and makes none.
    package var status: Status {
        state.withLock { state in
            var obstacle: EncryptionError?
            var content: KeysFile.Content?
            do throws(EncryptionError) {
                content = try file.read()
                if content == nil, case .closed = state {
                    // Asking must not make a device key; only a key file can be made when it is needed.
                    if try given(by: provider) == nil, provider.kind != .file { _ = try provider.make() }
                } else {
                    let ring = try open(state)
                    content = ring.content
                    state = .open(ring)
                }
            } catch {
                obstacle = error
            }
            return Status(
                provider: content?.provider ?? provider.kind, obstacle: obstacle,
                keys: (content?.keys ?? []).map {
                    Status.Key(id: $0.id, purpose: $0.purpose, fingerprint: $0.fingerprint, created: $0.created)
                })
        }
    }
}
