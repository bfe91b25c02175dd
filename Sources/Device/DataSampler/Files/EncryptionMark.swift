import Encryption
import TelemetryBasics

/// `<data>/encryption.json`: whether this directory is encrypted. It stays through a wipe, which destroys the keys, so
/// that what comes afterwards is encrypted again.
struct EncryptionMark: KeptState, Equatable {
    static let fileName = "encryption.json"

    var isOn: Bool

    /// Whether a directory is to be encrypted. Without a setting, a new directory with a key file is, and others stay
    /// as they are: a program that only encrypts its own data with a passcode must not wait for it.
    static func isWanted(_ configuration: DataSamplerConfiguration, keys: KeyRing) -> Bool {
        if let given = configuration.encryptsAtRest { return given }
        let directory = configuration.directory
        if let mark = (try? file(in: directory).load()) ?? nil { return mark.isOn }
        // The mark is damaged or gone.
        if keys.holdsKey(of: .state) { return true }
        guard case .file = configuration.deviceKey else { return false }
        let used = [IdentityFile.name, LastCollector.fileName, StoredProfile.fileName]
        return !used.contains { Paths.exists("\(directory)/\($0)") }
    }

    /// Whether a start has switched encryption on here.
    static func isOn(in directory: String) -> Bool { ((try? file(in: directory).load()) ?? nil)?.isOn ?? false }

    /// Notes what holds from now on, if it is something else than before.
    static func keep(_ isOn: Bool, in directory: String) throws(DataSamplerError) {
        let file = file(in: directory)
        let present: EncryptionMark?
        do throws(DataSamplerError) { present = try file.load() } catch  where error.code == .storageDamaged {
            present = nil
        }
        // A directory that never was encrypted needs no mark.
        guard (present?.isOn ?? false) != isOn else { return }
        try file.save(EncryptionMark(isOn: isOn))
    }
}
