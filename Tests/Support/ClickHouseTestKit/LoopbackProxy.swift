import NIOCore
import NIOPosix
import Synchronization

/// A TCP proxy on loopback that passes bytes on to a server, or loses some as asked.
///
/// It knows no HTTP. A request reaches the server exactly up to the byte that the behaviour names. Thread-safe.
package final class LoopbackProxy: Sendable {
    package enum Behaviour: Sendable {
        case forward
        /// The server gets everything. When it begins to answer, the client's connection ends without the answer.
        case loseAnswer
        /// The server gets everything. Its answer stays here, and the connection stays open.
        case holdAnswer
        /// The server gets everything. Its answer is replaced.
        case answer(String)
        /// The client's connection ends after the first bytes of the answer.
        case cutAnswer(after: Int)
        /// Both connections end after the first bytes of the request.
        case cutRequest(after: Int)
    }

    private struct State {
        var behaviour: Behaviour
        var requestBytes = 0
        var connections = 0
    }

    private let state: Mutex<State>
    private let channel: any Channel

    package var port: Int { channel.localAddress?.port ?? 0 }
    package var url: String { "http://127.0.0.1:\(port)" }
    /// Bytes that clients have sent, over all connections.
    package var requestBytes: Int { state.withLock { $0.requestBytes } }
    package var connections: Int { state.withLock { $0.connections } }

    private init(state: consuming Mutex<State>, channel: any Channel) {
        self.state = state
        self.channel = channel
    }

    package func behave(_ behaviour: Behaviour) { state.withLock { $0.behaviour = behaviour } }

    /// Serves while `body` runs.
    package static func running<Result>(
        to port: Int, _ behaviour: Behaviour = .forward, _ body: (LoopbackProxy) async throws -> Result
    ) async throws -> Result {
        let box = Box()
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelOption(.autoRead, value: false)
            .childChannelInitializer { client in
                client.eventLoop.makeCompletedFuture {
                    try client.pipeline.syncOperations.addHandler(ClientSide(box: box, port: port))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let proxy = LoopbackProxy(state: Mutex(State(behaviour: behaviour)), channel: channel)
        box.proxy.withLock { $0 = proxy }
        do {
            let result = try await body(proxy)
            try? await channel.close()
            return result
        } catch {
            try? await channel.close()
            throw error
        }
    }

    fileprivate var behaviour: Behaviour { state.withLock { $0.behaviour } }

    fileprivate func connected() { state.withLock { $0.connections += 1 } }

    fileprivate func received(_ count: Int) { state.withLock { $0.requestBytes += count } }

    fileprivate final class Box: Sendable {
        let proxy = Mutex<LoopbackProxy?>(nil)
    }
}

/// Passes a client's bytes to the server. It connects before it reads.
private final class ClientSide: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let box: LoopbackProxy.Box
    private let port: Int
    private var server: (any Channel)?
    private var passed = 0

    init(box: LoopbackProxy.Box, port: Int) {
        self.box = box
        self.port = port
    }

    func channelActive(context: ChannelHandlerContext) {
        guard let proxy = box.proxy.withLock({ $0 }) else { return context.close(promise: nil) }
        proxy.connected()
        let client = context.channel
        let handler = NIOLoopBound(self, eventLoop: context.eventLoop)
        ClientBootstrap(group: context.eventLoop)
            .channelInitializer { server in
                server.eventLoop.makeCompletedFuture {
                    try server.pipeline.syncOperations.addHandler(ServerSide(proxy: proxy, client: client))
                }
            }
            .connect(host: "127.0.0.1", port: port)
            .whenComplete { result in
                switch result {
                case .success(let server):
                    handler.value.server = server
                    client.setOption(.autoRead, value: true).whenSuccess { client.read() }
                case .failure: client.close(promise: nil)
                }
            }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard let proxy = box.proxy.withLock({ $0 }), let server else { return }
        var buffer = unwrapInboundIn(data)
        proxy.received(buffer.readableBytes)
        if case .cutRequest(let limit) = proxy.behaviour, passed + buffer.readableBytes >= limit {
            buffer = buffer.readSlice(length: max(limit - passed, 0)) ?? buffer
            passed = limit
            let client = context.channel
            server.writeAndFlush(buffer).whenComplete { _ in
                server.close(promise: nil)
                client.close(promise: nil)
            }
            return
        }
        passed += buffer.readableBytes
        server.writeAndFlush(buffer, promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) { server?.close(promise: nil) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}

/// Passes the server's bytes to the client.
private final class ServerSide: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let proxy: LoopbackProxy
    private let client: any Channel
    private var passed = 0

    init(proxy: LoopbackProxy, client: any Channel) {
        self.proxy = proxy
        self.client = client
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var buffer = unwrapInboundIn(data)
        let client = client
        switch proxy.behaviour {
        case .forward, .cutRequest: client.writeAndFlush(buffer, promise: nil)
        case .loseAnswer: client.close(promise: nil)
        case .holdAnswer: break
        case .answer(let text):
            guard passed == 0 else { return }
            passed = buffer.readableBytes
            client.writeAndFlush(ByteBuffer(string: text), promise: nil)
        case .cutAnswer(let limit):
            guard passed + buffer.readableBytes >= limit else {
                passed += buffer.readableBytes
                return client.writeAndFlush(buffer, promise: nil)
            }
            buffer = buffer.readSlice(length: max(limit - passed, 0)) ?? buffer
            passed = limit
            client.writeAndFlush(buffer).whenComplete { _ in client.close(promise: nil) }
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        if case .holdAnswer = proxy.behaviour { return }
        client.close(promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
