import Crypto
import FoundationEssentials
import Glibc
import Synchronization
import TelemetryBasics
import WireModel

/// Where the device key comes from. The name stands in the file `keys` and in status, and never changes.
package enum DeviceKeyProviderKind: String, Codable, CaseIterable, Sendable {
    case file, systemd, host, passcode
}

/// Gives the device key, which wraps the data keys.
package protocol DeviceKeyProvider: Sendable {
    var kind: DeviceKeyProviderKind { get }
    /// The present device key, 32 bytes; `nil`: there is none yet, or nobody has given it.
    ///
    /// - Throws: `keyMissing`, `exposed`, `damaged`, `newerVersion`, `io`.
    func load() throws(EncryptionError) -> SymmetricKey?
    /// Makes the first device key, which is on synced disk on return.
    ///
    /// - Throws: `keyMissing` or `locked` where somebody else has to make it; `diskFull`, `io`.
    func make() throws(EncryptionError) -> SymmetricKey
    /// Destroys the device key as far as this program can. Harmless where there is none.
    func destroy() throws(EncryptionError)
    /// What somebody has to do if the key is missing or another one; sentences.
    var remedy: String { get }
}

/// A systemd credential: `$CREDENTIALS_DIRECTORY/<name>`, 32 bytes. With `LoadCredentialEncrypted=` systemd unseals it
/// with the machine's TPM2 or its own secret.
package struct SystemdCredentialProvider: DeviceKeyProvider {
    package let kind = DeviceKeyProviderKind.systemd
    private let name: String
    private let directory: String?

    /// - Parameter directory: of the credentials; `nil`: this is no service with credentials.
    package init(
        name: String, directory: String? = ProcessInfo.processInfo.environment["CREDENTIALS_DIRECTORY"]
    ) {
        self.name = name
        self.directory = directory
    }

    package func load() throws(EncryptionError) -> SymmetricKey? {
        guard let directory else {
            throw EncryptionError(
                .keyMissing,
                "the device key is the systemd credential \(name), and $CREDENTIALS_DIRECTORY is not set. \(remedy)"
            )
        }
        // systemd may put a link there.
        guard let bytes = try Files<EncryptionError>.read("\(directory)/\(name)", maximumBytes: 4096) else {
            return nil
        }
        guard bytes.count == 32 else {
            throw EncryptionError(
                .wrongKey, "the systemd credential \(name) has \(bytes.count) bytes, a device key has 32. \(remedy)")
        }
        return SymmetricKey(data: bytes)
    }

    package func make() throws(EncryptionError) -> SymmetricKey {
        throw EncryptionError(.keyMissing, "there is no systemd credential \(name). \(remedy)")
    }

    /// systemd's copy is in memory and goes with the service. The sealed one is of the machine's administrator.
    package func destroy() {}

    package var remedy: String {
        "Make it with `head -c 32 /dev/urandom | systemd-creds encrypt --name=\(name) - FILE`, keep a copy of the key "
            + "elsewhere, and name FILE in the unit as `LoadCredentialEncrypted=\(name):FILE`."
    }
}

/// The program that embeds the library gives the key.
package struct HostKeyProvider: DeviceKeyProvider {
    package let kind = DeviceKeyProviderKind.host
    private let key: @Sendable () throws -> Data?

    /// - Parameter key: 32 bytes, the same at each call; `nil`: not at hand now. It must not wait for long.
    package init(_ key: @escaping @Sendable () throws -> Data?) { self.key = key }

    package func load() throws(EncryptionError) -> SymmetricKey? {
        let given: Data?
        do { given = try key() } catch {
            throw EncryptionError(
                .keyMissing, "the program did not give the device key: \(error). \(remedy)", cause: error)
        }
        guard let given else { return nil }
        guard given.count == 32 else {
            throw EncryptionError(
                .wrongKey, "the program gave a device key of \(given.count) bytes, it must have 32. \(remedy)")
        }
        return SymmetricKey(data: given)
    }

    package func make() throws(EncryptionError) -> SymmetricKey {
        throw EncryptionError(.keyMissing, "the program has no device key at hand. \(remedy)")
    }

    package func destroy() {}

    package var remedy: String { "Give the 32 bytes that it gave before." }
}

/// Holds the key that was derived from a passcode, in memory only. ``KeyRing/enter(passcode:)`` puts it there.
final class PasscodeProvider: DeviceKeyProvider {
    let kind = DeviceKeyProviderKind.passcode
    private let key = Mutex<SymmetricKey?>(nil)

    func set(_ derived: SymmetricKey) { key.withLock { $0 = derived } }
    func load() -> SymmetricKey? { key.withLock { $0 } }
    func make() throws(EncryptionError) -> SymmetricKey {
        throw EncryptionError(.locked, "the keys are locked: \(remedy)")
    }
    func destroy() { key.withLock { $0 = nil } }
    var remedy: String { "enter the passcode, then try again" }
}

/// How a passcode becomes a device key: PBKDF2-HMAC-SHA-512. Salt and rounds stand in the file `keys`.
package struct PasscodeParameters: Codable, Equatable, Sendable {
    /// 16 random bytes, hexadecimal.
    var salt: String
    var rounds: Int

    /// swift-crypto's own floor. A file with fewer is damaged.
    package static let leastRounds = 210_000
    /// A file with more would hold a start up for minutes.
    package static let greatestRounds = 100_000_000
    /// A person waits this long at most once a start, and each guess of a thief costs as much.
    private static let target = Duration.milliseconds(500)

    package init(salt: String, rounds: Int) {
        self.salt = salt
        self.rounds = rounds
    }

    /// A fresh salt, and as many rounds as this machine makes in half a second.
    package static func measured(clock: some Clock<Duration> = ContinuousClock()) -> PasscodeParameters {
        let salt = SymmetricKey(size: .bits128).withUnsafeBytes { Data($0).hexadecimal }
        let probe = PasscodeParameters(salt: salt, rounds: leastRounds)
        let took = clock.measure { _ = try? probe.key(of: "probe") }
        return PasscodeParameters(salt: salt, rounds: rounds(leastRounds, took: took))
    }

    /// Pure: the rounds for half a second, if so many took so long.
    static func rounds(_ probed: Int, took: Duration) -> Int {
        let seconds = max(took / .seconds(1), 0.000_001)
        let wanted = Double(probed) * (target / .seconds(1)) / seconds
        return min(max(Int(min(wanted, 1e9)), leastRounds), greatestRounds)
    }

    /// Takes about half a second of a processor.
    ///
    /// - Parameter passcode: its bytes in UTF-8 count, so that one text entered in two ways is two passcodes.
    package func key(of passcode: String) throws(EncryptionError) -> SymmetricKey {
        guard (1...1024).contains(passcode.utf8.count) else {
            throw EncryptionError(.invalid, "a passcode has 1 to 1024 bytes, this one has \(passcode.utf8.count)")
        }
        guard let salt = Data(hexadecimal: salt), salt.count == 16,
            (Self.leastRounds...Self.greatestRounds).contains(rounds)
        else { throw EncryptionError(.damaged, "the file keys has no valid salt and rounds of its passcode") }
        return try PasscodeDerivation.key(of: passcode, salt: salt, rounds: rounds)
    }
}
