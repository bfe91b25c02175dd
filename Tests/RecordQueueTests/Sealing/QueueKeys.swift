import Crypto
import Encryption
import Foundation
import Logging
import Synchronization
import TelemetryBasics

@testable import RecordQueue

/// A device key that a test gives and takes away.
final class HeldKey: DeviceKeyProvider {
    let kind = DeviceKeyProviderKind.host
    let remedy = "Give the key."
    private let key: Mutex<SymmetricKey?>

    init(_ key: SymmetricKey?) { self.key = Mutex(key) }

    func give(_ given: SymmetricKey?) { key.withLock { $0 = given } }
    func load() throws(EncryptionError) -> SymmetricKey? { key.withLock { $0 } }
    func make() throws(EncryptionError) -> SymmetricKey { throw EncryptionError(.keyMissing, "no key. \(remedy)") }
    func destroy() throws(EncryptionError) {}
}

/// The keys of a fixture: the same file `keys` and the same device key for each ring.
struct QueueKeys: Sendable {
    let directory: String
    let deviceKey = SymmetricKey(size: .bits256)

    init(_ fixture: QueueFixture) throws {
        directory = "\(fixture.directory)/keys-directory"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    }

    /// A ring as after a restart.
    /// - Parameters:
    ///   - provider: `nil`: the device key is at hand.
    ///   - now: seconds since 1970.
    func ring(_ provider: HeldKey? = nil, now: Int64 = 1_000_000) -> KeyRing {
        KeyRing(
            directory: directory, provider: provider ?? HeldKey(deviceKey), now: { now },
            logger: Logger(label: "queue-tests") { _ in SwiftLogNoOpLogHandler() })
    }

    /// The file `keys` is gone for good.
    func lose() throws { try FileManager.default.removeItem(atPath: "\(directory)/keys") }
}

extension QueueFixture {
    static func sealed(
        _ keys: KeyRing, isSealing: Bool = true, _ change: (inout RecordQueue.Configuration) -> Void = { _ in }
    ) -> RecordQueue.Configuration {
        configuration {
            $0.keys = keys
            $0.isSealing = isSealing
            change(&$0)
        }
    }

    /// Every file below the directory, but for the keys.
    func allBytes(of subdirectory: String = "") throws -> [String: Data] {
        var found: [String: Data] = [:]
        let root = directory + subdirectory
        for name in try FileManager.default.subpathsOfDirectory(atPath: root) {
            var isDirectory: ObjCBool = false
            guard FileManager.default.fileExists(atPath: "\(root)/\(name)", isDirectory: &isDirectory),
                !isDirectory.boolValue
            else { continue }
            found[name] = try Data(contentsOf: URL(fileURLWithPath: "\(root)/\(name)"))
        }
        return found
    }
}
