import FoundationEssentials

/// What a device says of one of its wipes: which keys it destroyed, how, when, and how much was erased with them.
/// `Schemas/encryption/FORMAT.md` defines it. Pure.
///
/// It discloses no key: a fingerprint only says which key it was.
package struct WipeCertificate: Codable, Equatable, Sendable {
    /// What became of the device key.
    package enum Method: String, Codable, CaseIterable, Sendable {
        /// The key file and the wrapped data keys were overwritten and unlinked.
        case overwritten = "overwritten and unlinked"
        /// The device key is not ours to destroy: the wrapped data keys were overwritten and unlinked, and the device
        /// key was forgotten.
        case forgotten
        /// The file `keys` could not be read. It was overwritten and unlinked, and nobody knows which keys it had.
        case unknownKeys = "overwritten and unlinked, keys not known"
        /// There were no keys: nothing was sealed, and the files were erased.
        case noKeys = "no keys"
    }

    package enum Kind: String, Codable, Sendable {
        case clearData = "wipe"
        case enterprise = "enterprise-wipe"
    }

    /// A destroyed data key.
    package struct Key: Codable, Equatable, Sendable {
        package var fingerprint: String
        package var id: UInt32
        package var purpose: String

        package init(id: UInt32, purpose: String, fingerprint: String) {
            (self.id, self.purpose, self.fingerprint) = (id, purpose, fingerprint)
        }
    }

    /// The key that wrapped the data keys.
    package struct DeviceKey: Codable, Equatable, Sendable {
        package var fingerprint: String
        /// Who gave it, such as `file`.
        package var provider: String

        package init(provider: String, fingerprint: String) {
            (self.provider, self.fingerprint) = (provider, fingerprint)
        }
    }

    /// The most keys that are listed, the newest ones.
    package static let maximumKeys = 64

    /// When the wipe was decided, by the device's clock, in microseconds since 1970.
    package var begun: Int64
    /// The id of the collector at which the device is enrolled.
    package var collector: String
    /// The id of the command that asked for it; `nil`: it was asked for on the device.
    package var command: String?
    package var device: String
    /// `nil` if there was none, or if the file `keys` could not be read.
    package var deviceKey: DeviceKey?
    /// When everything was erased.
    package var ended: Int64
    /// The epochs of the queue that it ended.
    package var epochs: [String]
    package var keys: [Key]
    package var kind: Kind
    /// Erased log segments.
    package var logSegments: Int
    package var method: Method
    package var organization: String
    /// Destroyed keys beyond those in `keys`.
    package var otherKeys: Int
    /// Erased records that had waited.
    package var records: UInt64

    package init(
        kind: Kind, command: String?, device: String, organization: String, collector: String, epochs: [String],
        deviceKey: DeviceKey?, keys: [Key], method: Method, records: UInt64, logSegments: Int, begun: Int64,
        ended: Int64
    ) {
        self.kind = kind
        self.command = command
        self.device = device
        self.organization = organization
        self.collector = collector
        self.epochs = epochs
        self.deviceKey = deviceKey
        self.keys = Array(keys.sorted { $0.id < $1.id }.suffix(Self.maximumKeys))
        otherKeys = max(0, keys.count - Self.maximumKeys)
        self.method = method
        self.records = records
        self.logSegments = logSegments
        self.begun = begun
        self.ended = ended
    }
}
