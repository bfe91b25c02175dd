import CommandKit
import ControlSocket
import FoundationEssentials
import Glibc
import Logging
import NIOCore
import NIOPosix
import Synchronization
import TelemetryBasics
import WireModel

/// Serves the agent's control socket. It accepts few connections, each for one request and one answer of a command, or
/// for lines of a program, and closes idle ones. The socket's mode is 0600, or 0660 if there is an access group.
///
/// The agent holds the queue's lock, so a socket file that it finds belongs to a killed agent and is replaced.
struct ControlServer: Sendable {
    typealias Answering = @Sendable (WireControlRequest) async -> WireControlAnswer
    typealias LineAnswering = @Sendable (Data) async -> ControlLineAnswer

    /// Further connections are closed at once.
    static let maximumConnections = 32

    let directory: String
    /// A connection without a request is closed after this time.
    var idleTime: TimeAmount = .seconds(30)
    /// The group that may ask too.
    var accessGroup: AccessGroup?
    let logger: Logger
    let answer: Answering
    let answerLine: LineAnswering

    /// A message, and the connection for its answer.
    struct Request: Sendable {
        let message: ControlMessage
        let channel: any Channel
        /// It was answered, and the connection stays open.
        let answered: @Sendable () -> Void
    }

    /// Binds the socket, calls `ready`, and serves until the task is cancelled. It then answers the requests that have
    /// begun, and removes the socket.
    func run(ready: @Sendable () async -> Void = {}) async throws(CommandError) {
        // A separate thread, so that a slow name look-up of the transport delays no command.
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        // The number of connections bounds this stream, because each asks for one thing at a time.
        let (requests, continuation) = AsyncStream.makeStream(of: Request.self)
        do {
            let server = try await bind(group, requests: continuation)
            await ready()
            await serve(requests)
            // Fails only if it is closed already.
            try? await server.close()
            unlink("\(directory)/\(ControlSocketPath.name)")
        } catch {
            try? await group.shutdownGracefully()
            throw error
        }
        // Closes the remaining connections.
        try? await group.shutdownGracefully()
    }

    private func bind(
        _ group: MultiThreadedEventLoopGroup, requests: AsyncStream<Request>.Continuation
    ) async throws(CommandError) -> any Channel {
        let open = OpenConnections()
        let idleTime = idleTime
        let bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 16)
            // A program may end its side and read the answers to its lines.
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelInitializer { channel in
                guard open.enter() else { return channel.close() }
                channel.closeFuture.whenComplete { _ in open.leave() }
                return channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(IdleStateHandler(allTimeout: idleTime))
                    try pipeline.addHandler(
                        ByteToMessageHandler(ControlMessageDecoder(), maximumBufferSize: 2 * ControlFrame.maximumBytes))
                    try pipeline.addHandler(ControlConnectionHandler(requests: requests))
                }
            }
        let socket: ControlSocketPath
        do throws(ControlError) { socket = try ControlSocketPath(directory: directory) } catch {
            throw CommandError(error)
        }
        let server: any Channel
        do {
            server = try await bootstrap.withBoundSocket(try Self.boundSocket(socket.path)).get()
        } catch {
            let file = error as? FileError
            throw CommandError(
                file?.isDiskFull == true ? .tryAgain : .failed,
                "the control socket \(directory)/\(ControlSocketPath.name) cannot be opened: "
                    + "\(file.map { FileError.words($0.systemError) } ?? "\(error)").",
                cause: error)
        }
        guard let accessGroup else { return server }
        do throws(CommandError) {
            try accessGroup.open(data: directory)
            try accessGroup.open(socket: socket.path)
        } catch {
            try? await server.close()
            throw error
        }
        return server
    }

    /// Binds a socket whose file has mode 0600 from the beginning: Linux gives the file the socket's mode. A later
    /// `chmod` would leave a moment in which anybody can connect, and a umask changes the whole process.
    private static func boundSocket(_ path: String) throws(FileError) -> CInt {
        let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw FileError("making", path) }
        do throws(FileError) {
            guard fchmod(descriptor, 0o600) == 0 else { throw FileError("making", path) }
            var status = stat()
            if lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK { unlink(path) }
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8).prefix($0.count - 1)) }
            let result = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    Glibc.bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            guard result == 0 else { throw FileError("making", path) }
            return descriptor
        } catch {
            close(descriptor)
            throw error
        }
    }

    private func serve(_ requests: AsyncStream<Request>) async {
        await withDiscardingTaskGroup { group in
            for await request in requests {
                group.addTask { await serve(request) }
            }
        }
    }

    private func serve(_ request: Request) async {
        do {
            switch request.message {
            case .request(let message):
                let answer = await answer(toRequest: message)
                try await request.channel.writeAndFlush(ByteBuffer(bytes: ControlFrame.bytes(answer)))
                try await request.channel.close()
            case .line(let line):
                let answer = await answerLine(line)
                try await request.channel.writeAndFlush(ByteBuffer(bytes: answer.data))
                request.answered()
            }
        } catch {
            // The request was carried out although the command or program has gone.
            logger.debug("a command did not wait for its answer", metadata: ["error": "\(error)"])
        }
    }

    private func answer(toRequest message: Data) async -> WireControlAnswer {
        do { return await answer(try WireControlRequest.decode(message)) } catch {
            return .failure(code: "malformed-request", message: "the request cannot be read: \(error)", exitCode: 64)
        }
    }

    /// Limits the number of connections.
    private final class OpenConnections: Sendable {
        private let count = Mutex(0)

        func enter() -> Bool {
            count.withLock { count in
                guard count < ControlServer.maximumConnections else { return false }
                count += 1
                return true
            }
        }

        func leave() { count.withLock { $0 -= 1 } }
    }
}

extension WireControlAnswer {
    static func failure(code: String, message: String, exitCode: Int32) -> WireControlAnswer {
        var answer = WireControlAnswer()
        answer.errorCode = code
        answer.message = message
        answer.exitCode = UInt32(clamping: exitCode)
        return answer
    }
}
