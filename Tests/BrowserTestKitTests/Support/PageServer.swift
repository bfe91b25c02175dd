import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// A server on loopback whose documents a test plants.
final class PageServer: Sendable {
    struct Answer: Sendable {
        var status = 200
        var headers: [String: String] = [:]
        var body = ""
        /// Whether the answer never comes.
        var isMissing = false

        static let never = Answer(isMissing: true)

        static func html(_ body: String, status: Int = 200, headers: [String: String] = [:]) -> Answer {
            Answer(
                status: status, headers: ["Content-Type": "text/html; charset=utf-8"].merging(headers) { $1 },
                body: body)
        }

        static func script(_ body: String) -> Answer {
            Answer(headers: ["Content-Type": "text/javascript"], body: body)
        }
    }

    struct Request: Sendable, Equatable {
        var path: String
        var cookie: String?
    }

    let origin: String
    private let channel: any Channel
    private let seen: Seen

    /// What was asked for, in that order.
    var requests: [Request] { seen.requests.withLock { $0 } }

    private final class Seen: Sendable {
        let requests = Mutex<[Request]>([])
    }

    private init(channel: any Channel, seen: Seen) {
        self.channel = channel
        self.seen = seen
        origin = "http://127.0.0.1:\(channel.localAddress?.port ?? 0)"
    }

    /// Runs a server while `body` runs. Paths without an answer are 404.
    static func serving<Value: Sendable>(
        _ answers: [String: Answer], _ body: (PageServer) async throws -> Value
    ) async throws -> Value {
        let seen = Seen()
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 64)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline(withErrorHandling: true)
                    try channel.pipeline.syncOperations.addHandler(Handler(answers: answers, seen: seen))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let server = PageServer(channel: channel, seen: seen)
        do {
            let value = try await body(server)
            try await channel.close()
            return value
        } catch {
            try await channel.close()
            throw error
        }
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let answers: [String: Answer]
        private let seen: Seen
        private var head: HTTPRequestHead?

        init(answers: [String: Answer], seen: Seen) {
            self.answers = answers
            self.seen = seen
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head(let head): self.head = head
            case .body: break
            case .end: if let head { answer(head, context) }
            }
        }

        private func answer(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
            seen.requests.withLock { $0.append(Request(path: head.uri, cookie: head.headers.first(name: "Cookie"))) }
            let path = String(head.uri.prefix { $0 != "?" })
            let answer = answers[path] ?? Answer(status: 404, body: "not there")
            if answer.isMissing { return }
            var headers = HTTPHeaders(answer.headers.map { ($0.key, $0.value) })
            headers.replaceOrAdd(name: "Content-Length", value: String(answer.body.utf8.count))
            let status = HTTPResponseStatus(statusCode: answer.status)
            context.write(
                wrapOutboundOut(.head(.init(version: .http1_1, status: status, headers: headers))), promise: nil)
            context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: answer.body)))), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }
    }
}
