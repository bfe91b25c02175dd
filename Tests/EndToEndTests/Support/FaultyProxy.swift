import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// An HTTP proxy in front of the collector that misbehaves as told: the network, a load balancer or a captive portal between the two.
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
        var waiting: [(faults: Int, CheckedContinuation<Void, Never>)] = []
    }

    let port: Int
    private let upstream: String
    private let state = Mutex(State())
    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    private let client: HTTPClient
    private let server: NIOAsyncChannel<NIOAsyncChannel<HTTPServerRequestPart, HTTPServerResponsePart>, Never>

    /// Serves while `body` runs, and ends however that ends.
    static func run(upstreamPort: Int, _ body: (FaultyProxy) async throws -> Void) async throws {
        let proxy = try await FaultyProxy(upstreamPort: upstreamPort)
        var failure: (any Error)?
        await withTaskGroup(of: Void.self) { tasks in
            // Cancelled, it throws; what it served is judged by the test.
            tasks.addTask { try? await proxy.serve() }
            do { try await body(proxy) } catch { failure = error }
            tasks.cancelAll()
        }
        try await proxy.shutdown()
        if let failure { throw failure }
    }

    private init(upstreamPort: Int) async throws {
        upstream = "http://127.0.0.1:\(upstreamPort)"
        client = HTTPClient(eventLoopGroup: group)
        server = try await ServerBootstrap(group: group)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .bind(host: "127.0.0.1", port: 0) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    return try NIOAsyncChannel(wrappingChannelSynchronously: channel)
                }
            }
        port = server.channel.localAddress!.port!
    }

    var counters: Counters { state.withLock { $0.counters } }

    func behave(_ behaviour: Behaviour) {
        state.withLock {
            $0.behaviour = behaviour
            $0.counters.faulted = 0
        }
    }

    /// Returns when `count` requests have met the present fault.
    func faultsMet(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let already = state.withLock { state in
                if state.counters.faulted >= count { return true }
                state.waiting.append((count, continuation))
                return false
            }
            if already { continuation.resume() }
        }
    }

    /// Until cancelled.
    private func serve() async throws {
        try await withThrowingDiscardingTaskGroup { tasks in
            try await server.executeThenClose { connections in
                for try await connection in connections {
                    tasks.addTask { try? await self.serve(connection) }
                }
            }
        }
    }

    private func shutdown() async throws {
        try await client.shutdown()
        try await group.shutdownGracefully()
    }

    private func serve(_ connection: NIOAsyncChannel<HTTPServerRequestPart, HTTPServerResponsePart>) async throws {
        try await connection.executeThenClose { parts, replies in
            var head: HTTPRequestHead?
            var body = ByteBuffer()
            for try await part in parts {
                switch part {
                case .head(let next):
                    head = next
                    body.clear()
                case .body(var chunk):
                    body.writeBuffer(&chunk)
                case .end:
                    guard let request = head, let answer = try await answer(request, body) else { return }
                    var headers = answer.headers
                    for name in ["transfer-encoding", "content-length", "connection"] { headers.remove(name: name) }
                    headers.add(name: "content-length", value: String(answer.body.readableBytes))
                    try await replies.write(.head(.init(version: .http1_1, status: answer.status, headers: headers)))
                    try await replies.write(.body(.byteBuffer(answer.body)))
                    try await replies.write(.end(nil))
                    if !request.isKeepAlive { return }
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
    private func answer(_ head: HTTPRequestHead, _ body: ByteBuffer) async throws -> Answer? {
        switch state.withLock({ $0.behaviour }) {
        case .forward:
            return try await forward(head, body)
        case .cut:
            noteFault()
            return nil
        case .loseAnswer:
            _ = try await forward(head, body)
            noteFault()
            return nil
        case .answer(let status, let headers, let text):
            noteFault()
            return Answer(status: status, headers: HTTPHeaders(headers.map { ($0.key, $0.value) }), body: ByteBuffer(string: text))
        case .refuseBodies(let limit):
            if body.readableBytes <= limit { return try await forward(head, body) }
            noteFault()
            return Answer(status: .payloadTooLarge, headers: ["content-type": "text/html"], body: ByteBuffer(string: "<h1>413</h1>"))
        }
    }

    private func forward(_ head: HTTPRequestHead, _ body: ByteBuffer) async throws -> Answer? {
        var request = HTTPClientRequest(url: upstream + head.uri)
        request.method = head.method
        request.headers = head.headers
        for name in ["host", "content-length", "transfer-encoding", "connection"] { request.headers.remove(name: name) }
        if body.readableBytes > 0 { request.body = .bytes(body) }
        guard let response = try? await client.execute(request, timeout: .seconds(30)),
            let content = try? await response.body.collect(upTo: 16 << 20)
        else { return nil }
        state.withLock {
            $0.counters.passed += 1
            $0.counters.largestForwarded = max($0.counters.largestForwarded, body.readableBytes)
        }
        return Answer(status: response.status, headers: response.headers, body: content)
    }

    private func noteFault() {
        let ready = state.withLock { state in
            state.counters.faulted += 1
            let count = state.counters.faulted
            let ready = state.waiting.filter { $0.faults <= count }
            state.waiting.removeAll { $0.faults <= count }
            return ready
        }
        for (_, continuation) in ready { continuation.resume() }
    }
}
