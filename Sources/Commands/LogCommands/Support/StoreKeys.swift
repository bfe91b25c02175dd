import CommandKit
import ControlSocket
import Encryption
import FoundationEssentials
import LogStore
import Synchronization
import TelemetryBasics
import WireModel

/// The keys of encrypted logs. Nobody is asked for them before the first encrypted file is read.
///
/// The running agent has them at hand, also with a passcode. Where no agent runs, the provider of the device key is
/// asked: a key file, or a systemd credential.
final class StoreKeys: Sendable {
    private struct Known {
        var answer: Result<KeyList, EncryptionError>?
        /// Milliseconds since boot.
        var asked = Int64.min / 2
    }

    /// Milliseconds between two questions. `tail -f` goes on once a passcode was entered or a key was replaced.
    private static let pause: Int64 = 1000
    private static let usualCredential = "ws1-device-key"

    private let directory: String
    private let providers: [any DeviceKeyProvider]
    private let known = Mutex(Known())

    /// - Parameters:
    ///   - directory: the agent's data directory.
    ///   - source: `file:PATH` or `systemd:NAME`; `nil`: the usual places.
    init(directory: String, source: String?) throws(CommandError) {
        self.directory = directory
        switch source?.split(separator: ":", maxSplits: 1).map(String.init) {
        case nil:
            providers = [
                KeyFileProvider(path: "\(directory)/\(KeyFileProvider.defaultName)"),
                SystemdCredentialProvider(name: Self.usualCredential),
            ]
        case let words? where words.count == 2 && words[0] == "file": providers = [KeyFileProvider(path: words[1])]
        case let words? where words.count == 2 && words[0] == "systemd":
            providers = [SystemdCredentialProvider(name: words[1])]
        default:
            throw CommandError(
                .usage, "--device-key is '\(source ?? "")', must be file:PATH or systemd:NAME, as the agent has it")
        }
    }

    var keys: LogKeys { LogKeys { [self] (id) throws(EncryptionError) in try key(id) } }

    private func key(_ id: UInt32) throws(EncryptionError) -> DataKey {
        try known.withLock { (known) throws(EncryptionError) in
            if let key = try? known.answer?.get().key(id, for: .logs) { return key }
            let now = SystemClock.bootMilliseconds()
            if known.answer == nil || now - known.asked >= Self.pause {
                known.asked = now
                known.answer = Result { () throws(EncryptionError) in try ask() }
            }
            guard let list = try known.answer?.get(), let key = list.key(id, for: .logs) else {
                throw EncryptionError(
                    .keyGone,
                    "key \(id) is not among the keys of \(directory): a wipe has destroyed it, or another device has it"
                )
            }
            return key
        }
    }

    private func ask() throws(EncryptionError) -> KeyList {
        var refusal: ControlError?
        do throws(ControlError) { if let list = try askAgent() { return list } } catch { refusal = error }
        do throws(EncryptionError) {
            guard let list = try KeyRing.list(of: .logs, in: directory, providers: providers) else {
                throw EncryptionError(
                    .keyMissing, "there is no file \(directory)/keys. Give --data of the data directory that has it")
            }
            return list
        } catch {
            guard let refusal else { throw error }
            throw EncryptionError(error.code, "\(error.message) The agent was asked too: \(refusal.message)")
        }
    }

    /// - Returns: `nil` if no agent runs, or if it has no keys.
    private func askAgent() throws(ControlError) -> KeyList? {
        var request = WireControlRequest()
        request.logKeys = WireControlLogKeys()
        guard let answer = try ControlClient(directory: directory).askBlocking(request) else { return nil }
        let json = try answer.succeeding().json
        guard let list = try? JSONDecoder().decode(KeyList.self, from: json) else {
            throw ControlError(.failed, "the agent in \(directory) gave keys that cannot be read: update this program")
        }
        return list.keys.isEmpty ? nil : list
    }
}
