import DataSampler
import Foundation

/// Erases what the SDK keeps (ws1).
public struct WS1SDKContainerCleaner: Sendable {
    private let engine: SDKEngine

    /// The cleaner of this process's data.
    public init() { self.init(engine: .shared) }

    init(engine: SDKEngine) { self.engine = engine }

    /// Erases records, logs and keys, which cannot be undone, and goes on (ws1). The device stays enrolled. The
    /// delegate is told that a refresh begins and, when it has ended, of an initial check.
    ///
    /// Requires that the SDK runs: it counts what is erased, so that the collector does not take it for lost.
    ///
    /// - Parameter completion: ours; told when all is erased. After an error, a wipe that has begun goes on by itself.
    ///   `nil`: a failure is logged only.
    public func destroyContainerData(completion: SDKCompletion? = nil) {
        engine.call(
            "destroyContainerData",
            { [engine] sampler in
                engine.tell { $0.controllerWillStartRefresh() }
                var failure: NSError?
                do { try await sampler.wipe(reason: "destroyContainerData") } catch {
                    failure = AWSDKError.error(for: error)
                }
                engine.tell { [failure] in $0.controllerDidFinishInitialCheck(error: failure) }
                if let failure { throw failure }
            }, then: completion)
    }
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
