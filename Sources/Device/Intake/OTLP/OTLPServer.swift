import Dispatch
import Glibc
import ListeningSockets
import NIOCore
import NIOHTTP1
import NIOPosix
import OTLP
import Synchronization
import TelemetryBasics

/// Listens for senders of OTLP/HTTP, and knows their connections. It has one thread. Safe from any thread, except that
/// ``listen()`` and ``end()`` wait for that thread.
final class OTLPServer: Sendable {
    /// Where senders reach the agent.
    struct Address: Equatable, Sendable {
        var place: ListeningSockets.SocketAddress
        /// Of a socket with a path: the group that may use it.
        var group: String?
        /// A machine may be without it: nothing is said if it is.
        var isOptional = false
    }

    private struct Connection {
        var channel: any Channel
        /// Milliseconds since boot of the last beginning or end of a request.
        var last: Int64
        var isBusy = false
    }

    private struct State {
        var sockets: [Int: (socket: ListeningSocket, channel: any Channel)] = [:]
        var failures: [Int: String] = [:]
        var connections: [ObjectIdentifier: Connection] = [:]
        var refusedConnections: UInt64 = 0
        var isStopping = false
    }

    /// Connections that wait in the kernel to be accepted.
    private static let bufferBytes: Int32 = 256 << 10
    /// Milliseconds that answers may take to be written at an end.
    private static let endMilliseconds: Int64 = 3_000

    let limits: OTLPLimits
    let connectionLimits: OTLPConnection.Limits
    let inbox: OTLPInbox
    let receiver: OTLPReceiver
    private let addresses: [Address]
    private let clock: IntakeClock
    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    private let state = Mutex(State())

    init(
        _ addresses: [Address], limits: OTLPLimits, connectionLimits: OTLPConnection.Limits, inbox: OTLPInbox,
        receiver: OTLPReceiver, clock: IntakeClock
    ) {
        self.addresses = addresses
        self.limits = limits
        self.connectionLimits = connectionLimits
        self.inbox = inbox
        self.receiver = receiver
        self.clock = clock
        group.next().scheduleRepeatedTask(initialDelay: .seconds(1), delay: .seconds(1)) { [weak self] task in
            guard let self else { return task.cancel() }
            self.closeOld()
        }
    }

    /// Closed by ``end()`` already, where that was called.
    deinit { group.shutdownGracefully(queue: .global()) { _ in } }

    // MARK: Listening

    /// Opens the sockets that are not open, and closes those whose path leads elsewhere.
    func listen() {
        for (index, address) in addresses.enumerated() {
            let (isStopping, isInPlace) = state.withLock { ($0.isStopping, $0.sockets[index]?.socket.isInPlace) }
            guard !isStopping else { return }
            if isInPlace == true { continue }
            close(index)
            do throws(ListenFailure) {
                let opened = try self.open(address)
                state.withLock { state in
                    state.sockets[index] = opened
                    state.failures[index] = nil
                }
            } catch {
                let isMissing = address.isOptional && error.isMissingAddress
                state.withLock {
                    $0.failures[index] = isMissing ? nil : "OTLP cannot be received at \(address.place): \(error)"
                }
            }
        }
    }

    private func open(_ address: Address) throws(ListenFailure) -> (ListeningSocket, any Channel) {
        let socket = try ListeningSocket(
            address.place, .connections, bufferBytes: Self.bufferBytes, access: address.access)
        // NIO closes its own descriptor, and the socket its own.
        let descriptor = dup(socket.descriptor)
        guard descriptor >= 0 else {
            let error = errno
            socket.close()
            throw ListenFailure(error)
        }
        let isSocket = if case .path = address.place { true } else { false }
        let bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: Int32(ListeningSocket.backlog))
            .childChannelInitializer { [weak self] channel in
                guard let self, self.admit(channel) else { return channel.close() }
                channel.closeFuture.whenComplete { [weak self] _ in self?.left(channel) }
                return channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.configureHTTPServerPipeline()
                    try pipeline.addHandler(OTLPConnection(self, isSocket: isSocket))
                }
            }
        do { return (socket, try bootstrap.withBoundSocket(descriptor).wait()) } catch {
            socket.close()
            throw ListenFailure("the system refuses it: \(error)")
        }
    }

    private func close(_ index: Int) {
        guard let open = state.withLock({ $0.sockets.removeValue(forKey: index) }) else { return }
        open.socket.close()
        // Fails only if it is closed already.
        try? open.channel.close().wait()
    }

    /// The ports that are open, in the order of the addresses; the system chose one where 0 was asked for.
    var ports: [UInt16] {
        state.withLock { state in state.sockets.sorted { $0.key < $1.key }.compactMap(\.value.socket.port) }
    }

    /// Sockets that are open, and connections.
    var parts: Int { state.withLock { $0.sockets.count + $0.connections.count } }

    var problems: [String] {
        state.withLock { state in
            var problems = state.failures.sorted { $0.key < $1.key }.map(\.value)
            if state.refusedConnections > 0 {
                problems.append(
                    "since the start \(state.refusedConnections) connections were refused: there may be "
                        + "\(connectionLimits.connections) at once")
            }
            return problems
        }
    }

    // MARK: Connections

    var isStopping: Bool { state.withLock { $0.isStopping } }

    private func admit(_ channel: any Channel) -> Bool {
        let now = clock.bootMilliseconds()
        let (isAdmitted, replaced) = state.withLock { state -> (Bool, (any Channel)?) in
            guard !state.isStopping else { return (false, nil) }
            var replaced: (any Channel)?
            if state.connections.count >= connectionLimits.connections {
                let quietest = state.connections.filter { !$0.value.isBusy }.min { $0.value.last < $1.value.last }
                guard let quietest, now - quietest.value.last >= connectionLimits.quietMilliseconds else {
                    state.refusedConnections += 1
                    return (false, nil)
                }
                replaced = quietest.value.channel
                state.connections[quietest.key] = nil
            }
            state.connections[ObjectIdentifier(channel)] = Connection(channel: channel, last: now)
            return (true, replaced)
        }
        replaced?.close(promise: nil)
        return isAdmitted
    }

    private func left(_ channel: any Channel) {
        _ = state.withLock { $0.connections.removeValue(forKey: ObjectIdentifier(channel)) }
    }

    /// A request begins.
    func began(_ channel: any Channel) { touch(channel, isBusy: true) }

    /// The answer is written.
    func ended(_ channel: any Channel) { touch(channel, isBusy: false) }

    private func touch(_ channel: any Channel, isBusy: Bool) {
        let now = clock.bootMilliseconds()
        state.withLock { state in
            state.connections[ObjectIdentifier(channel)]?.isBusy = isBusy
            state.connections[ObjectIdentifier(channel)]?.last = now
        }
    }

    /// Closes connections without requests for long, and gives up requests that wait for long.
    private func closeOld() {
        let now = clock.bootMilliseconds()
        inbox.expire(before: now - connectionLimits.waitMilliseconds)
        let idle = state.withLock { state in
            state.connections.values.filter { !$0.isBusy && now - $0.last >= connectionLimits.idleMilliseconds }
                .map(\.channel)
        }
        for channel in idle { channel.close(promise: nil) }
    }

    // MARK: The end

    /// Nobody connects any more, and each connection ends with its present request.
    func stop() {
        let idle = state.withLock { state in
            state.isStopping = true
            return state.connections.values.filter { !$0.isBusy }.map(\.channel)
        }
        for index in addresses.indices { close(index) }
        for channel in idle { channel.close(promise: nil) }
        inbox.close()
    }

    /// Waits until the answers are written, and ends the thread.
    func end() {
        stop()
        let deadline = clock.bootMilliseconds() + Self.endMilliseconds
        while state.withLock({ $0.connections.values.contains { $0.isBusy } }), clock.bootMilliseconds() < deadline {
            _ = poll(nil, 0, 10)
        }
        // Closes what is left. It fails only if that was done before.
        try? group.syncShutdownGracefully()
    }
}
