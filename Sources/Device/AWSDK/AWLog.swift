import DataSampler
import Foundation
import LogStore
import Logging
import Synchronization
import WireModel

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Logs that something failed, such as a look-up or an URL that is not supported (ws1).
///
/// The line is kept in the data directory until something asks for it. When this returns, the kernel has an error; a
/// crash of the program may lose other lines of the last second. Before ``AWController/configuration`` is set there is
/// no directory, and a line goes to standard error. So does one whose store cannot be opened.
public func AWLogError(_ message: @autoclosure () -> String) { SDKEngine.shared.logs.log(.error, message()) }

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Logs that something went wrong, such as a bad response code (ws1). As ``AWLogError(_:)``.
public func AWLogWarning(_ message: @autoclosure () -> String) { SDKEngine.shared.logs.log(.warning, message()) }

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Logs an ordinary event (ws1). As ``AWLogError(_:)``.
public func AWLogInfo(_ message: @autoclosure () -> String) { SDKEngine.shared.logs.log(.information, message()) }

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Logs a step (ws1). As ``AWLogError(_:)``.
public func AWLogVerbose(_ message: @autoclosure () -> String) { SDKEngine.shared.logs.log(.verbose, message()) }

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Logs a step, like ``AWLogVerbose(_:)``. Samples of 18.5 use it (ws1); no table of levels lists it.
public func AWLogDebug(_ message: @autoclosure () -> String) { SDKEngine.shared.logs.log(.verbose, message()) }

/// The documented class for sending logs (ws1).
public final class AWLog: Sendable {
    private let engine: SDKEngine
    private static let shared = AWLog(engine: .shared)

    init(engine: SDKEngine) { self.engine = engine }

    /// The object of this process (ws1, 5.9).
    public static func sharedInstance() -> AWLog { shared }

    /// Sends as ``AWController/sendLogDataWithCompletion(completion:)`` does (ws1, in Objective-C).
    public func sendApplicationLogs(completion: @escaping @Sendable (_ success: Bool, _ error: NSError?) -> Void) {
        AWController(engine: engine).sendLogDataWithCompletion(completion: completion)
    }

    /// Whether this device keeps any line (ws1, in Objective-C). Reads the log directory. `false` if it cannot be read.
    public func hasAWLogs() -> Bool {
        guard let status = try? engine.logs.open()?.status else { return false }
        return status.bytes + status.ringBytes + status.waitingBytes > 0
    }
}

/// Gives the application what the SDK keeps (ws1).
public struct WS1SDKDataProvider: Sendable {
    private let engine: SDKEngine

    /// The provider of this process's data.
    public init() { self.init(engine: .shared) }

    init(engine: SDKEngine) { self.engine = engine }

    /// The kept lines, in order, in chunks of at most 5,000,000 bytes of UTF-8 (ws1). Nothing is deleted. An empty log
    /// has no chunk.
    ///
    /// - Throws: an error of ``AWSDKError`` if the log cannot be read or no configuration was set.
    public func fetchSDKLogChunks() throws -> SDKLogChunks {
        guard let store = try engine.logs.open() else {
            throw AWSDKError.missingRequiredInformation.error(
                "there is no configuration: set AWController.clientInstance().configuration first")
        }
        do {
            return SDKLogChunks(try store.fetchSDKLogChunks(device: engine.device ?? "device"), logger: engine.logger)
        } catch {
            throw AWSDKError.protectedDataIsUnavailable.error(error.message, cause: error)
        }
    }
}

/// Chunks of a log, in order; the name of the type is ours. Each is read when it is asked for.
///
/// The documented loop cannot throw. If a chunk cannot be read, for instance because retention has removed its lines,
/// the loop ends and ``failure`` says why.
public final class SDKLogChunks: Sequence, Sendable {
    private let chunks: LogChunks
    private let logger: Logger
    private let lastFailure = Mutex<LogStoreError?>(nil)

    init(_ chunks: LogChunks, logger: Logger) {
        self.chunks = chunks
        self.logger = logger
    }

    /// Why a loop ended early; `nil` if none did.
    public var failure: (any Error)? { lastFailure.withLock { $0 } }

    /// How many chunks there are.
    public var count: Int { chunks.count }

    /// Reads the chunks from the first on.
    public func makeIterator() -> AnyIterator<SDKLogChunk> {
        var position = 0
        return AnyIterator { [self] in
            guard position < chunks.count else { return nil }
            do throws(LogStoreError) {
                let chunk = try chunks.chunk(at: position)
                position += 1
                return SDKLogChunk(data: chunk.data, suggestedFileName: chunk.suggestedFileName)
            } catch {
                logger.error(
                    "the rest of a log cannot be read",
                    metadata: ["chunk": "\(position)", "reason": "\(error.message)"])
                lastFailure.withLock { $0 = error }
                position = chunks.count
                return nil
            }
        }
    }
}

/// A piece of a log; the name of the type is ours.
public struct SDKLogChunk: Sendable {
    /// The lines, in UTF-8: at most 5,000,000 bytes (ws1).
    public let data: Data
    /// A name for a file with the lines, safe on any file system (ws1).
    public let suggestedFileName: String
}

/// The log store of the configured directory. Opened by the first line, so that lines from before the start are kept.
final class SDKLogs: Sendable {
    private struct State {
        var configuration: DataSamplerConfiguration?
        /// Ours to close.
        var store: LogStore?
    }

    private let state = Mutex(State())

    func configure(_ configuration: DataSamplerConfiguration?) { state.withLock { $0.configuration = configuration } }

    /// - Returns: `nil` while there is no configuration.
    func open() throws -> LogStore? {
        do {
            return try state.withLock { state in
                if let store = state.configuration?.logStore ?? state.store { return store }
                guard let configuration = state.configuration else { return nil }
                let name = configuration.applicationIdentifier
                let store = try LogStore(
                    LogStore.Configuration(
                        configuration, applicationName: name.isEmpty ? "awsdk" : name,
                        applicationVersion: configuration.applicationVersion))
                state.store = store
                return store
            }
        } catch {
            throw AWSDKError.protectedDataIsUnavailable.error("the log store cannot be opened: \(error)", cause: error)
        }
    }

    func log(_ level: LogLevel, _ message: String) {
        guard let store = try? open() else {
            // Nothing can report a failure of this last resort.
            try? FileHandle.standardError.write(contentsOf: Data("\(level.name): \(message)\n".utf8))
            return
        }
        store.log(level, message)
    }

    func close() async {
        let store = state.withLock { state in
            defer { state.store = nil }
            return state.store
        }
        await store?.close()
    }
}
