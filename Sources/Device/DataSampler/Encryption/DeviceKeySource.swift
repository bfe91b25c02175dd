import Encryption
import FoundationEssentials
import Logging
import RecordQueue
import WireModel

/// Where the device key comes from, which protects the keys of a data directory. New cases may be added.
///
/// The keys move to another source at the first use after a change of the configuration. Data stays as it is.
public enum DeviceKeySource: Sendable {
    /// A key file with mode 0600, made when a key is first needed.
    ///
    /// It protects copies of other files, and makes a wipe certain. It protects nothing against somebody who has the
    /// disk with the key file on it.
    ///
    /// - Parameter path: absolute; `nil`: `device.key` in the data directory.
    case file(path: String?)
    /// A systemd credential, `$CREDENTIALS_DIRECTORY/<name>`, of 32 bytes. `LoadCredentialEncrypted=` of the unit seals
    /// it to the machine or its TPM2.
    case systemdCredential(name: String)
    /// The program gives the key: 32 bytes, the same at each call; `nil` if it is not at hand now. Called from any
    /// thread, when keys are used first; it must not wait for long.
    case host(@Sendable () throws -> Data?)
    /// A person enters a passcode, see ``DataSampler/enterPasscode(_:)``. The key is derived from it and is only in
    /// memory (ws1). Until then nothing can be encrypted or decrypted.
    case passcode

    /// - Throws: `invalidConfiguration`.
    func validate() throws(DataSamplerError) {
        switch self {
        case .file(let path?) where !path.hasPrefix("/"):
            throw DataSamplerError(
                .invalidConfiguration, "deviceKey names the key file '\(path)': give an absolute path")
        case .systemdCredential(let name) where name.isEmpty || name.contains("/") || name.hasPrefix("."):
            throw DataSamplerError(
                .invalidConfiguration,
                "deviceKey names the systemd credential '\(name)': give a name without '/' that does not begin with '.'"
            )
        default: break
        }
    }

    /// The keys of a data directory, protected by this device key.
    ///
    /// - Parameter now: seconds since 1970.
    func keyRing(in directory: String, now: @escaping @Sendable () -> Int64, logger: Logger) -> KeyRing {
        let usual = Self.usualFile(directory)
        let (provider, former): ((any DeviceKeyProvider)?, [any DeviceKeyProvider]) =
            switch self {
            case .file(let path?) where path != usual.path: (KeyFileProvider(path: path), [usual])
            case .file: (usual, [])
            case .systemdCredential(let name): (SystemdCredentialProvider(name: name), [usual])
            case .host(let key): (HostKeyProvider(key), [usual])
            case .passcode: (nil, [usual])
            }
        return KeyRing(directory: directory, provider: provider, former: former, now: now, logger: logger)
    }

    /// Keys for who reads beside the program that has the directory. They never move to another device key, because
    /// that program has them in memory.
    func keyRing(reading directory: String, now: @escaping @Sendable () -> Int64, logger: Logger) -> KeyRing {
        let provider: (any DeviceKeyProvider)? =
            switch self {
            case .file(let path): path.map { KeyFileProvider(path: $0) } ?? Self.usualFile(directory)
            case .systemdCredential(let name): SystemdCredentialProvider(name: name)
            case .host(let key): HostKeyProvider(key)
            case .passcode: nil
            }
        return KeyRing(directory: directory, provider: provider, now: now, logger: logger)
    }

    private static func usualFile(_ directory: String) -> KeyFileProvider {
        KeyFileProvider(path: "\(directory)/\(KeyFileProvider.defaultName)")
    }
}

extension DataSamplerConfiguration {
    /// With the keys of its directory. Nothing is read before their first use.
    package func withKeys(clock: any RecordClock = SystemRecordClock(), logger: Logger) -> Self {
        guard keys == nil else { return self }
        var result = self
        result.keys = deviceKey.keyRing(in: directory, now: { clock.now().wallTime / 1_000_000 }, logger: logger)
        return result
    }
}
