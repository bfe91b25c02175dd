import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// An HTTP proxy in front of the collector that misbehaves as asked: the network, a load balancer or a captive portal
/// between the two.
///
/// It reads a request whole before it decides, so a fault is exact: a request either reached the collector or did not.
final class FaultyProxy: Sendable {
    enum Behaviour: Sendable {
        case forward
        /// The connection is closed without a word; nothing reaches the collector.
        case cut
        /// The collector gets the request and answers; the answer is lost.
        case loseAnswer
        /// Somebody in between answers; nothing reaches the collector.
        case answer(HTTPResponseStatus, headers: [String: String] = [:], body: String = "")
        /// The collector gets the request and answers; its answer's headers reach the device under another status.
        case forge(HTTPResponseStatus)
        /// Bodies above `bytes` are answered 413 as by a proxy in between; smaller ones pass.
        case refuseBodies(above: Int)
    }

    struct Counters: Equatable, Sendable {
        /// Requests that were forwarded and answered to the device.
        var passed = 0
        /// Requests that met the fault, since the behaviour was last set.
        var faulted = 0
        /// The largest body forwarded.
        var largestForwarded = 0
    }

    private struct State {
        var behaviour = Behaviour.forward
        var counters = Counters()
        var authorization: String?
        var watchers: [AsyncStream<Void>.Continuation] = []
    }

    private let upstreams: [String]
    private let requests = Atomic(0)
    private let state = Mutex(State())
    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    private let client: HTTPClient
    private let server = Mutex<(any Channel)?>(nil)

    /// Serves while `body` runs, and ends however that ends.
    static func run(upstreamPort: Int, _ body: (FaultyProxy) async throws -> Void) async throws {
        try await run(upstreamPorts: [upstreamPort], body)
    }

    /// - Parameter upstreamPorts: of several collectors. Each request goes to the next one, whether it answers or not.
    static func run(upstreamPorts: [Int], _ body: (FaultyProxy) async throws -> Void) async throws {
        let proxy = FaultyProxy(upstreamPorts: upstreamPorts)
        let result: Result<Void, any Error>
        do {
            try await proxy.start()
            result = .success(try await body(proxy))
        } catch { result = .failure(error) }
        try await proxy.shutdown()
        try result.get()
    }

    private init(upstreamPorts: [Int]) {
        upstreams = upstreamPorts.map { "http://127.0.0.1:\($0)" }
        client = HTTPClient(eventLoopGroup: group)
    }

    private var nextUpstream: String {
        upstreams[requests.wrappingAdd(1, ordering: .relaxed).oldValue % upstreams.count]
    }

    /// Not as asynchronous channels: one that is accepted while the server closes, and handed to nobody, ends the whole
    /// program.
    private func start() async throws {
        let server = try await ServerBootstrap(group: group)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(Connection(proxy: self))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        self.server.withLock { $0 = server }
    }

    var port: Int { server.withLock { $0?.localAddress?.port } ?? 0 }

    /// What the newest request that was forwarded proved itself with.
    var authorization: String? { state.withLock { $0.authorization } }

    var counters: Counters { state.withLock { $0.counters } }

    func behave(_ behaviour: Behaviour) {
        state.withLock {
            $0.behaviour = behaviour
            $0.counters.faulted = 0
        }
    }

    /// Returns when `count` requests have met the present fault, or with an error when the test is over.
    func faultsMet(_ count: Int) async throws {
        let (faults, watcher) = AsyncStream.makeStream(of: Void.self)
        state.withLock { $0.watchers.append(watcher) }
        watcher.yield()
        for await _ in faults where counters.faulted >= count { return }
        try Task.checkCancellation()
    }

    private func shutdown() async throws {
        try? await server.withLock { $0 }?.close()
        try await client.shutdown()
        try await group.shutdownGracefully()
    }

    /// Accepts requests of one connection, one at a time, and answers them.
    private final class Connection: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let proxy: FaultyProxy
        private var head: HTTPRequestHead?
        private var body = ByteBuffer()

        init(proxy: FaultyProxy) { self.proxy = proxy }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head(let next):
                head = next
                body.clear()
            case .body(var chunk):
                body.writeBuffer(&chunk)
            case .end:
                guard let head else { return context.close(promise: nil) }
                let (proxy, body, channel) = (proxy, body, context.channel)
                Task {
                    guard let answer = await proxy.answer(head, body) else { return channel.close(promise: nil) }
                    var headers = answer.headers
                    for name in ["transfer-encoding", "content-length", "connection"] { headers.remove(name: name) }
                    headers.add(name: "content-length", value: String(answer.body.readableBytes))
                    channel.write(
                        HTTPServerResponsePart.head(.init(version: .http1_1, status: answer.status, headers: headers)),
                        promise: nil)
                    channel.write(HTTPServerResponsePart.body(.byteBuffer(answer.body)), promise: nil)
                    try? await channel.writeAndFlush(HTTPServerResponsePart.end(nil))
                    if !head.isKeepAlive { channel.close(promise: nil) }
                }
            }
        }
    }

    private struct Answer {
        var status: HTTPResponseStatus
        var headers: HTTPHeaders
        var body: ByteBuffer
    }

    /// `nil` closes the connection.
    private func answer(_ head: HTTPRequestHead, _ body: ByteBuffer) async -> Answer? {
        switch state.withLock({ $0.behaviour }) {
        case .forward:
            return await forward(head, body)
        case .cut:
            recordFault()
            return nil
        case .loseAnswer:
            _ = await forward(head, body)
            recordFault()
            return nil
        case .answer(let status, let headers, let text):
            recordFault()
            return Answer(
                status: status, headers: HTTPHeaders(headers.map { ($0.key, $0.value) }), body: ByteBuffer(string: text)
            )
        case .forge(let status):
            let answer = await forward(head, body)
            recordFault()
            return answer.map { Answer(status: status, headers: $0.headers, body: ByteBuffer()) }
        case .refuseBodies(let limit):
            if body.readableBytes <= limit { return await forward(head, body) }
            recordFault()
            return Answer(
                status: .payloadTooLarge, headers: ["content-type": "text/html"],
                body: ByteBuffer(string: "<h1>413</h1>"))
        }
    }

    private func forward(_ head: HTTPRequestHead, _ body: ByteBuffer) async -> Answer? {
        var request = HTTPClientRequest(url: nextUpstream + head.uri)
        request.method = head.method
        request.headers = head.headers
        for name in ["host", "content-length", "transfer-encoding", "connection"] { request.headers.remove(name: name) }
        if body.readableBytes > 0 { request.body = .bytes(body) }
        guard let response = try? await client.execute(request, timeout: .seconds(30)),
            let content = try? await response.body.collect(upTo: 16 << 20)
        else { return nil }
        state.withLock {
            $0.counters.passed += 1
            if let given = head.headers.first(name: "authorization") { $0.authorization = given }
            $0.counters.largestForwarded = max($0.counters.largestForwarded, body.readableBytes)
        }
        return Answer(status: response.status, headers: response.headers, body: content)
    }

    private func recordFault() {
        let watchers = state.withLock { state in
            state.counters.faulted += 1
            return state.watchers
        }
        for watcher in watchers { watcher.yield() }
    }
}
