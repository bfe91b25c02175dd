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

/// The container cannot be used (ws1). The documentation shows this one case.
public enum InvalidOperation: Error, Sendable {
    // swift-format-ignore: AlwaysUseLowerCamelCase
    /// The container is locked.
    case ContainerLocked
}

/// Why data could not be encrypted or decrypted (ws1). The documentation does not list its cases. Until there is
/// encryption at rest the container is always locked, so it is the container's error.
public typealias AWSDKCryptError = InvalidOperation

extension AWController {
    /// Encrypts data with the container's key (ws1). There is no encryption at rest yet, so this always fails.
    ///
    /// - Throws: ``InvalidOperation/ContainerLocked``.
    public func encrypt(_ data: Data) throws -> Data { throw AWSDKCryptError.ContainerLocked }

    /// Decrypts data with the container's key (ws1). There is no encryption at rest yet, so this always fails.
    ///
    /// - Throws: ``InvalidOperation/ContainerLocked``.
    public func decrypt(_ data: Data) throws -> Data { throw AWSDKCryptError.ContainerLocked }
}
