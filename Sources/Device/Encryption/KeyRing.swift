import Crypto
import FoundationEssentials
import Logging
import Synchronization
import WireModel

/// The data keys of a data directory. Safe from any thread; the first use and a new key wait for the disk.
///
///                  device key at hand                     lock()
///     closed ───────────────────────────────► open ─────────────────► closed
///        │  └── not at hand: an error that       │
///        │      somebody can mend, and closed    │
///        └────────── destroy() ────► destroyed ◄─┘
///                                      │ renew()
///                                      └───────► closed
///
/// Nothing is read before the first use, so a device key that is missing delays nobody who needs no keys. A file that
/// cannot be read is never replaced: only ``destroy()`` gives sealed data up.
///
/// Several processes may use a directory: an agent that starts needs the keys of its log before it has the lock that a
/// command still holds. They take turns at changing the file, and each takes over what another has added.
package final class KeyRing: Sendable {
    /// Seals after which a purpose gets a new key: a quarter of what random nonces allow. After ``hardLimit`` nothing
    /// is sealed with a key, even if no new one can be written.
    static let sealLimit: UInt64 = 1 << 30
    private static let hardLimit: UInt64 = 1 << 32
    /// Age at which a purpose gets a new key: 90 days, in seconds.
    static let ageLimit: Int64 = 90 * 86_400
    /// Seals that are counted on disk before they are made. A crash counts at most so many too many.
    static let reservation: UInt64 = 1 << 16

    struct Ring {
        var content: KeysFile.Content
        var deviceKey: SymmetricKey
        /// A key that does not unwrap is missing.
        var keys: [UInt32: DataKey] = [:]
        /// Seals of each key, at most so many.
        var used: [UInt32: UInt64] = [:]
        /// A new key could not be written; it is tried again then. Seconds since 1970.
        var nextAttempt = Int64.min

        func active(_ purpose: KeyPurpose) -> KeysFile.Entry? {
            content.keys.lazy.filter { $0.purpose == purpose.description && keys[$0.id] != nil }.max { $0.id < $1.id }
        }
    }

    enum State {
        case closed
        case open(Ring)
        case destroyed
    }

    /// How long a new key that could not be written is not tried again, in seconds.
    private static let attemptPause: Int64 = 60

    let file: KeysFile
    let provider: any DeviceKeyProvider
    let passcode = PasscodeProvider()
    /// Where the device key may be that wraps at present, if it is not that of `provider`.
    let others: [any DeviceKeyProvider]
    /// Seconds since 1970.
    private let now: @Sendable () -> Int64
    let makeParameters: @Sendable () -> PasscodeParameters
    let logger: Logger
    let state = Mutex(State.closed)

    /// - Parameters:
    ///   - provider: gives the device key; `nil`: a person enters a passcode.
    ///   - former: providers that may have given it before. Keys move from them to `provider`.
    ///   - now: seconds since 1970.
    package convenience init(
        directory: String, provider: (any DeviceKeyProvider)?, former: [any DeviceKeyProvider] = [],
        now: @escaping @Sendable () -> Int64, logger: Logger
    ) {
        self.init(
            file: KeysFile(directory: directory), provider: provider, former: former, now: now,
            makeParameters: { .measured() }, logger: logger)
    }

    init(
        file: KeysFile, provider: (any DeviceKeyProvider)?, former: [any DeviceKeyProvider],
        now: @escaping @Sendable () -> Int64, makeParameters: @escaping @Sendable () -> PasscodeParameters,
        logger: Logger
    ) {
        self.file = file
        self.provider = provider ?? passcode
        others = provider == nil ? former : former + [passcode]
        self.now = now
        self.makeParameters = makeParameters
        self.logger = logger
    }

    // MARK: Keys

    /// The key with which something of this purpose is sealed now, and counts one seal. Makes a key where there is
    /// none, or where the present one is used up.
    ///
    /// - Throws: why there is none; `isTemporary` says whether the same may succeed later.
    package func sealingKey(for purpose: KeyPurpose) throws(EncryptionError) -> DataKey {
        try withRing { (ring) throws(EncryptionError) in
            let entry = try activeEntry(purpose, in: &ring)
            guard let key = ring.keys[entry.id] else {
                throw EncryptionError(.keyGone, "there is no key for the purpose \(purpose)")
            }
            let used = (ring.used[key.id] ?? 0) + 1
            if used > entry.seals { try reserve(key.id, used, in: &ring) }
            ring.used[key.id] = max(used, ring.used[key.id] ?? 0)
            return key
        }
    }

    /// The key that sealed something.
    ///
    /// - Throws: `keyGone` if no key of the purpose has the id, `damaged` if it does not unwrap, and why there are
    ///   none.
    package func key(_ id: UInt32, for purpose: KeyPurpose) throws(EncryptionError) -> DataKey {
        try withRing { (ring) throws(EncryptionError) in
            func entry() -> KeysFile.Entry? {
                ring.content.keys.first { $0.id == id && $0.purpose == purpose.description }
            }
            if entry() == nil { try takeOver(&ring) }
            guard let entry = entry() else {
                throw EncryptionError(
                    .keyGone,
                    "key \(id) is not among the keys of this device: a wipe has destroyed it, or another device has it")
            }
            guard let key = ring.keys[entry.id] else {
                throw EncryptionError(
                    .damaged,
                    "key \(id) in \(file.path) is damaged, the other keys are not. Restore the file from a copy.")
            }
            return key
        }
    }

    /// Removes keys of a purpose that nothing names any more. The active one stays.
    ///
    /// - Parameter named: ids that rows, segments or files still name.
    /// - Returns: the ids of the removed ones.
    @discardableResult package func removeUnused(
        of purpose: KeyPurpose, named: Set<UInt32>
    ) throws(EncryptionError) -> [UInt32] {
        try withRing { (ring) throws(EncryptionError) in
            try file.exclusively { () throws(EncryptionError) in
                try takeOver(&ring)
                let active = ring.active(purpose)?.id
                let unused = ring.content.keys.filter {
                    $0.purpose == purpose.description && $0.id != active && !named.contains($0.id)
                }.map(\.id)
                guard !unused.isEmpty else { return [] }
                var content = ring.content
                content.keys.removeAll { unused.contains($0.id) }
                try file.write(content)
                ring.content = content
                for id in unused { (ring.keys[id], ring.used[id]) = (nil, nil) }
                return unused
            }
        }
    }

    /// The active key, or a new one where there is none or it is used up.
    private func activeEntry(
        _ purpose: KeyPurpose, in ring: inout Ring
    ) throws(EncryptionError) -> KeysFile.Entry {
        guard let present = ring.active(purpose) else { return try addKey(purpose, to: &ring) }
        let used = ring.used[present.id] ?? 0
        guard isUsedUp(present, used), now() >= ring.nextAttempt || used >= Self.hardLimit else { return present }
        do throws(EncryptionError) { return try addKey(purpose, to: &ring) } catch {
            // A full disk must not stop what a key that is there can still seal.
            guard used < Self.hardLimit else { throw error }
            ring.nextAttempt = now() + Self.attemptPause
            logger.warning("no new key yet; the present one goes on", metadata: ["reason": "\(error.message)"])
            return present
        }
    }

    private func isUsedUp(_ entry: KeysFile.Entry, _ used: UInt64) -> Bool {
        used >= Self.sealLimit || now() - entry.created >= Self.ageLimit
    }

    private func addKey(_ purpose: KeyPurpose, to ring: inout Ring) throws(EncryptionError) -> KeysFile.Entry {
        try file.exclusively { () throws(EncryptionError) in
            if try takeOver(&ring), let present = ring.active(purpose),
                !isUsedUp(present, ring.used[present.id] ?? 0)
            {
                return present
            }
            return try writeKey(purpose, to: &ring)
        }
    }

    private func writeKey(_ purpose: KeyPurpose, to ring: inout Ring) throws(EncryptionError) -> KeysFile.Entry {
        guard ring.content.next < .max else {
            throw EncryptionError(.invalid, "\(file.path) has given all ids to keys: wipe the device")
        }
        let key = DataKey(id: ring.content.next, purpose: purpose, secret: SymmetricKey(size: .bits256))
        let entry = KeysFile.Entry(
            id: key.id, purpose: purpose.description, created: now(), seals: Self.reservation,
            fingerprint: key.secret.fingerprint, wrapped: try key.wrapped(by: ring.deviceKey).hexadecimal)
        var content = ring.content
        content.keys.append(entry)
        content.next += 1
        try file.write(content)
        ring.content = content
        (ring.keys[key.id], ring.used[key.id]) = (key, 0)
        return entry
    }

    /// Counts further seals on disk. If that fails, sealing goes on: the limit is a quarter of what nonces allow.
    private func reserve(_ id: UInt32, _ used: UInt64, in ring: inout Ring) throws(EncryptionError) {
        guard used <= Self.hardLimit else {
            throw EncryptionError(
                .diskFull, "key \(id) is used up and no new one could be written: make room on the disk")
        }
        do throws(EncryptionError) {
            try file.exclusively { () throws(EncryptionError) in
                try takeOver(&ring)
                // In memory in any case, so that a full disk is asked again after as many seals only.
                guard let index = ring.content.keys.firstIndex(where: { $0.id == id }) else { return }
                ring.content.keys[index].seals = max(used, ring.used[id] ?? 0) + Self.reservation - 1
                try file.write(ring.content)
            }
        } catch {
            logger.warning("seals of a key are not counted on disk", metadata: ["reason": "\(error.message)"])
        }
    }

    // MARK: Opening

    /// Takes over what another process has changed in the file.
    ///
    /// - Returns: whether there was anything.
    @discardableResult
    private func takeOver(_ ring: inout Ring) throws(EncryptionError) -> Bool {
        guard let content = try file.read(), content != ring.content else { return false }
        let former = ring
        ring = try unwrap(content).0
        ring.nextAttempt = former.nextAttempt
        // Both count their seals from what the file said, so the greater number is the safe one.
        for (id, count) in former.used { ring.used[id] = max(count, ring.used[id] ?? 0) }
        return true
    }

    func withRing<Result: Sendable>(
        _ body: (inout Ring) throws(EncryptionError) -> Result
    ) throws(EncryptionError) -> Result {
        try state.withLock { (state) throws(EncryptionError) in
            var ring = try open(state)
            // Not held twice, or each change would copy it.
            state = .closed
            // What was changed before an error stays.
            defer { state = .open(ring) }
            return try body(&ring)
        }
    }

    func open(_ state: State) throws(EncryptionError) -> Ring {
        switch state {
        case .open(let ring): return ring
        case .destroyed:
            throw EncryptionError(.destroyed, "a wipe is destroying the keys: try again when it is done")
        case .closed: break
        }
        guard let content = try file.read() else { return try begin() }
        let (unwrapped, isProviders) = try unwrap(content)
        var ring = unwrapped
        if isProviders || provider.kind == .passcode {
            // Only a person can move the keys to a passcode.
            if isProviders { try removeLeftovers(ring) }
            return ring
        }
        try move(&ring)
        return ring
    }

    /// There are no keys yet. Nothing but a first device key is written before a data key is needed.
    func begin() throws(EncryptionError) -> Ring {
        let key = try file.exclusively { () throws(EncryptionError) in try givenOrMade() }
        // Random, so that an id of a former file means another key than an id of this one.
        let first = UInt32.random(in: 1..<(1 << 24))
        return Ring(
            content: KeysFile.Content(
                provider: provider.kind, device: key.fingerprint, passcode: nil, next: first, keys: []),
            deviceKey: key)
    }

    /// - Returns: also whether it is the provider's device key, and not that of a former one.
    private func unwrap(_ content: KeysFile.Content) throws(EncryptionError) -> (Ring, Bool) {
        var failure: EncryptionError?
        var isOther = false
        for (index, candidate) in ([provider] + others).enumerated() {
            do throws(EncryptionError) {
                guard let key = try given(by: candidate) else { continue }
                if key.fingerprint == content.device { return (ring(content, key), index == 0) }
                if candidate.kind == content.provider { isOther = true }
            } catch {
                if candidate.kind == content.provider { failure = error }
            }
        }
        if let failure { throw failure }
        let remedy = ([provider] + others).first { $0.kind == content.provider }?.remedy ?? "Set that provider again."
        switch content.provider {
        case .passcode:
            throw EncryptionError(.locked, "the keys are locked: \(remedy)")
        case let kind where isOther:
            throw EncryptionError(
                .wrongKey, "the device key of provider \(kind) is not the one that \(file.path) needs. \(remedy)")
        case let kind:
            throw EncryptionError(
                .keyMissing, "\(file.path) needs the device key of provider \(kind), which is missing. \(remedy)")
        }
    }

    private func givenOrMade() throws(EncryptionError) -> SymmetricKey {
        if let key = try given(by: provider) { return key }
        return try provider.make()
    }

    /// A key that cannot be read is as good as missing: somebody can mend that, and nothing is damaged.
    func given(by provider: any DeviceKeyProvider) throws(EncryptionError) -> SymmetricKey? {
        do { return try provider.load() } catch {
            guard error.code == .io else { throw error }
            throw EncryptionError(.keyMissing, "\(error.message) \(provider.remedy)", cause: error)
        }
    }

    private func ring(_ content: KeysFile.Content, _ deviceKey: SymmetricKey) -> Ring {
        var ring = Ring(content: content, deviceKey: deviceKey)
        for entry in content.keys {
            ring.used[entry.id] = entry.seals
            guard let purpose = KeyPurpose(name: entry.purpose), let wrapped = Data(hexadecimal: entry.wrapped),
                let key = DataKey(id: entry.id, purpose: purpose, wrapped: wrapped, by: deviceKey)
            else {
                logger.error("a key cannot be unwrapped", metadata: ["key": "\(entry.id)"])
                continue
            }
            ring.keys[entry.id] = key
        }
        return ring
    }

    /// Wraps the keys under the provider's device key, if another one wraps them. Until that key is at hand the present
    /// one goes on.
    private func move(_ ring: inout Ring) throws(EncryptionError) {
        do throws(EncryptionError) {
            let key = try file.exclusively { () throws(EncryptionError) in try givenOrMade() }
            try rewrap(&ring, key, provider.kind, nil)
        } catch {
            guard error.isTemporary else { throw error }
            logger.warning(
                "the keys stay with their present provider",
                metadata: ["provider": "\(ring.content.provider.rawValue)", "reason": "\(error.message)"])
            return
        }
        try removeLeftovers(ring)
    }

    func rewrap(
        _ ring: inout Ring, _ key: SymmetricKey, _ kind: DeviceKeyProviderKind, _ parameters: PasscodeParameters?
    ) throws(EncryptionError) {
        try file.exclusively { () throws(EncryptionError) in
            try takeOver(&ring)
            var content = ring.content
            for (index, entry) in content.keys.enumerated() {
                // One that does not unwrap stays as it is, for a copy of the device key to open.
                guard let dataKey = ring.keys[entry.id] else { continue }
                content.keys[index].wrapped = try dataKey.wrapped(by: key).hexadecimal
            }
            (content.provider, content.device, content.passcode) = (kind, key.fingerprint, parameters)
            try file.write(content)
            file.reached(.migrated)
            (ring.content, ring.deviceKey) = (content, key)
        }
    }

    /// Destroys device keys that wrap nothing any more: what a move leaves, perhaps after a kill.
    func removeLeftovers(_ ring: Ring) throws(EncryptionError) {
        for other in others {
            guard let key = try? other.load(), key.fingerprint != ring.content.device else { continue }
            try other.destroy()
            file.reached(.deviceKeyDestroyed)
        }
    }
}
