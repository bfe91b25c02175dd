import DataSampler
import Foundation

/// Erases what the SDK keeps (ws1).
public struct WS1SDKContainerCleaner: Sendable {
    private let engine: SDKEngine

    /// The cleaner of this process's data.
    public init() { self.init(engine: .shared) }

    init(engine: SDKEngine) { self.engine = engine }

    /// Erases records, logs and keys, which cannot be undone (ws1). The device stays enrolled.
    ///
    /// If the SDK runs, it goes on: the delegate is informed that a refresh begins and, when it has ended, of an
    /// initial check. If it does not run, it runs for as long as erasing lasts, and is stopped again. It has to,
    /// because it counts what is erased, so that the collector does not count it as lost.
    ///
    /// Requires ``AWController/configuration``.
    ///
    /// - Parameter completion: ours; called when all is erased. After an error, a wipe that has begun goes on by
    ///   itself, at the latest with the next start. `nil`: a failure is logged only.
    public func destroyContainerData(completion: SDKCompletion? = nil) { engine.destroyContainer(completion) }
}

/// Why the container cannot be used (ws1). The documentation shows the first case; the others are ours.
public enum InvalidOperation: Error, Equatable, Sendable, CustomStringConvertible {
    // swift-format-ignore: AlwaysUseLowerCamelCase
    /// The container is locked: the SDK does not run, its initial check has not passed, the passcode was not entered,
    /// or the device key is not at hand. Nothing is lost; try again later. ``AWController/keyObstacle`` says what is
    /// missing.
    case ContainerLocked
    // swift-format-ignore: AlwaysUseLowerCamelCase
    /// The data cannot be encrypted; the text says why and what to do.
    case EncryptionFailed(String)
    // swift-format-ignore: AlwaysUseLowerCamelCase
    /// The data was not encrypted on this device, was changed, or its key was destroyed by a wipe; the text says which.
    case DecryptionFailed(String)

    /// What failed and what to do.
    public var description: String {
        switch self {
        case .ContainerLocked:
            "the container is locked: wait for the initial check, or give what AWController.keyObstacle asks for"
        case .EncryptionFailed(let why): "the data was not encrypted: \(why)"
        case .DecryptionFailed(let why): "the data was not decrypted: \(why)"
        }
    }
}

/// Why data could not be encrypted or decrypted (ws1). The documentation does not list its cases. A locked container is
/// the one that it describes.
public typealias AWSDKCryptError = InvalidOperation

extension AWController {
    /// Encrypts data with the container's key (ws1): AES-256-GCM under a key of the data directory. The application
    /// stores the result, which is 38 bytes longer.
    ///
    /// The key is lost when the container is destroyed, with a wipe, and with the data directory. Do not encrypt what
    /// cannot be fetched or made again (ws1).
    ///
    /// Where the key comes from is `deviceKey` of ``configuration``. Without a passcode it is random and on disk (ws1).
    ///
    /// - Throws: ``InvalidOperation/ContainerLocked`` until
    ///   ``AWControllerDelegate/controllerDidFinishInitialCheck(error:)`` has reported no error, and while the key is
    ///   not at hand; ``InvalidOperation/EncryptionFailed(_:)``.
    public func encrypt(_ data: Data) throws -> Data {
        try engine.encrypted({ $0.encrypt }, data) { .EncryptionFailed($0) }
    }

    /// Decrypts what ``encrypt(_:)`` returned on this device (ws1).
    ///
    /// - Throws: ``InvalidOperation/ContainerLocked`` as there; ``InvalidOperation/DecryptionFailed(_:)``.
    public func decrypt(_ data: Data) throws -> Data {
        try engine.encrypted({ $0.decrypt }, data) { .DecryptionFailed($0) }
    }

    /// Gives the passcode that a person entered; ours. It is needed after each start if `deviceKey` of
    /// ``configuration`` is `.passcode`. The first one is the passcode from then on.
    ///
    /// - Parameter completion: success once data can be encrypted. `nil`: a failure is logged only.
    public func enterPasscode(_ passcode: String, completion: SDKCompletion? = nil) {
        engine.call("enterPasscode", { try await $0.enterPasscode(passcode) }, then: completion)
    }

    /// Why ``encrypt(_:)`` finds the container locked, and what to do; `nil`: it does not. Ours.
    public var keyObstacle: String? { engine.keyObstacle }
}
