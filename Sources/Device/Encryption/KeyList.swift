import Crypto
import FoundationEssentials
import WireModel

/// Keys of one purpose for a reader in another process, such as `ws1log` beside the agent. It holds secrets: it goes
/// over the control socket only, and never to a disk.
package struct KeyList: Codable, Equatable, Sendable {
    package struct Entry: Codable, Equatable, Sendable {
        package var id: UInt32
        /// 32 bytes, hexadecimal.
        package var key: String
    }

    package var keys: [Entry]

    package init(keys: [Entry]) { self.keys = keys }

    /// The key of this id; `nil` if it is not in the list, or is no key.
    package func key(_ id: UInt32, for purpose: KeyPurpose) -> DataKey? {
        guard let entry = keys.first(where: { $0.id == id }), let secret = Data(hexadecimal: entry.key),
            secret.count == 32
        else { return nil }
        return DataKey(id: id, purpose: purpose, secret: SymmetricKey(data: secret))
    }
}

extension KeyRing {
    /// The keys of a purpose that unwrap, for a reader beside this process.
    ///
    /// - Throws: why there are none at hand.
    package func list(of purpose: KeyPurpose) throws(EncryptionError) -> KeyList {
        try withRing { (ring) throws(EncryptionError) in
            KeyList(
                keys: ring.keys.values.filter { $0.purpose == purpose }.sorted { $0.id < $1.id }.map { key in
                    KeyList.Entry(id: key.id, key: key.secret.withUnsafeBytes { Data($0).hexadecimal })
                })
        }
    }

    /// The keys of a data directory for a program that only reads beside its owner: nothing is made, moved or
    /// destroyed. The device key may be with any of the providers.
    ///
    /// - Returns: `nil` if the directory has no keys.
    /// - Throws: why they are not at hand.
    package static func list(
        of purpose: KeyPurpose, in directory: String, providers: [any DeviceKeyProvider]
    ) throws(EncryptionError) -> KeyList? {
        let file = KeysFile(directory: directory)
        guard let content = try file.read() else { return nil }
        var failure: EncryptionError?
        for provider in providers where provider.kind == content.provider {
            let deviceKey: SymmetricKey?
            do throws(EncryptionError) { deviceKey = try provider.load() } catch {
                failure = error
                continue
            }
            guard let deviceKey else {
                failure = EncryptionError(
                    .keyMissing,
                    "\(file.path) needs the device key of provider \(content.provider.rawValue), which is missing. "
                        + provider.remedy)
                continue
            }
            guard deviceKey.fingerprint == content.device else {
                failure = EncryptionError(
                    .wrongKey,
                    "the device key of provider \(content.provider.rawValue) is not the one that \(file.path) needs. "
                        + provider.remedy)
                continue
            }
            return KeyList(
                keys: content.keys.filter { $0.purpose == purpose.description }.compactMap { entry in
                    guard let wrapped = Data(hexadecimal: entry.wrapped),
                        let key = DataKey(id: entry.id, purpose: purpose, wrapped: wrapped, by: deviceKey)
                    else { return nil }
                    return KeyList.Entry(id: key.id, key: key.secret.withUnsafeBytes { Data($0).hexadecimal })
                })
        }
        if let failure { throw failure }
        throw EncryptionError(
            .locked,
            "the device key is with provider \(content.provider.rawValue), which only the running agent can ask: "
                + "start the agent\(content.provider == .passcode ? ", enter the passcode" : ""), then try again")
    }
}
