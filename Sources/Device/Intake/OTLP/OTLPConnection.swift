import NIOCore
import NIOHTTP1
import OTLP

/// One connection of a sender: reads a request, hands it on, and writes its answer. NIO gives it the next request only
/// once the answer is written. All calls come on the connection's event loop.
///
///     waiting ──head──► receiving ──end──► answering ──answer──► waiting
///                  └──► discarding ──end─────────────┘
final class OTLPConnection: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    struct Limits: Sendable {
        /// Connections at once. One more takes the place of the one that is quiet for longest, if that is as long as
        /// `quietMilliseconds`; otherwise it is closed as it comes.
        var connections = 64
        var quietMilliseconds: Int64 = 10_000
        /// A body must be here so long after its head. Senders are on this machine.
        var bodyMilliseconds: Int64 = 30_000
        /// A connection without a request is closed after it. Longer than the 60 s between two exports of metrics.
        var idleMilliseconds: Int64 = 120_000
        /// Lines that wait so long for the disk are given back to their sender. Shorter than the 10 s after which SDKs
        /// give up on an answer.
        var waitMilliseconds: Int64 = 5_000
    }

    private enum State {
        case waiting
        case receiving(OTLPRequestHead, body: [UInt8])
        /// The body of a refused request is passed by, so that the sender reads the answer.
        case discarding(OTLPAnswer, bytes: Int)
        case answering
        /// Nothing more is read.
        case closing
    }

    /// A refused body is passed by as far as so many times the limit of a body. Behind that the connection is closed.
    private static let discardedBodies = 4

    private let server: OTLPServer
    private let isSocket: Bool
    private var state = State.waiting
    private var keepsAlive = true
    private var isPost = true
    private var deadline: Scheduled<Void>?

    /// - Parameter isSocket: it came through a socket with a path.
    init(_ server: OTLPServer, isSocket: Bool) {
        self.server = server
        self.isSocket = isSocket
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): begin(head, context)
        case .body(let buffer): add(buffer, context)
        case .end: end(context)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        leave()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The connection broke, or what came is not HTTP; NIO has answered then.
        leave()
        context.close(promise: nil)
    }

    private func leave() {
        deadline?.cancel()
        if case .receiving(_, let body) = state { server.inbox.release(body.count) }
        state = .closing
    }

    private func begin(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        guard case .waiting = state else { return }
        keepsAlive = head.isKeepAlive
        isPost = head.method == .POST
        server.began(context.channel)
        let expects = head.headers["expect"].contains { $0.lowercased() == "100-continue" }
        do throws(OTLPRequestHead.Refusal) {
            let request = try OTLPRequestHead(head, isSocket: isSocket, limit: server.limits.bodyBytes)
            state = .receiving(request, body: [])
            if expects {
                let go = HTTPResponseHead(version: head.version, status: .continue)
                context.writeAndFlush(wrapOutboundOut(.head(go)), promise: nil)
            }
        } catch {
            let answer = server.receiver.refuse(error.status, error.message, as: error.encoding)
            // Who waits for a word before it sends the body, does not send it now.
            if expects { return close(with: answer, context) }
            state = .discarding(answer, bytes: 0)
        }
        let loopBound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let limit = server.connectionLimits.bodyMilliseconds
        deadline = context.eventLoop.scheduleTask(in: .milliseconds(limit)) {
            let (handler, context) = loopBound.value
            handler.isLate(context)
        }
    }

    private func isLate(_ context: ChannelHandlerContext) {
        switch state {
        case .receiving(let request, let body):
            server.inbox.release(body.count)
            let seconds = server.connectionLimits.bodyMilliseconds / 1000
            close(
                with: server.receiver.postpone(
                    503, "The body was not here after \(seconds) seconds.", as: request.encoding), context)
        case .discarding(let answer, _): close(with: answer, context)
        case .waiting, .answering, .closing: break
        }
    }

    private func add(_ buffer: ByteBuffer, _ context: ChannelHandlerContext) {
        let count = buffer.readableBytes
        switch state {
        case .receiving(let request, var body):
            // Two owners of the array would copy it with each piece.
            state = .waiting
            guard body.count + count <= server.limits.bodyBytes else {
                server.inbox.release(body.count)
                state = .discarding(
                    server.receiver.refuse(
                        413, OTLPRequestHead.tooLarge(server.limits.bodyBytes), as: request.encoding),
                    bytes: body.count + count)
                return
            }
            guard server.inbox.reserve(count) else {
                server.inbox.release(body.count)
                state = .discarding(
                    server.receiver.postpone(
                        503, "The agent has as many requests in memory as it may.", as: request.encoding),
                    bytes: body.count + count)
                return
            }
            body.append(contentsOf: buffer.readableBytesView)
            state = .receiving(request, body: body)
        case .discarding(let answer, let bytes):
            guard bytes + count <= Self.discardedBodies * server.limits.bodyBytes else {
                return close(with: answer, context)
            }
            state = .discarding(answer, bytes: bytes + count)
        case .waiting, .answering, .closing: break
        }
    }

    private func end(_ context: ChannelHandlerContext) {
        deadline?.cancel()
        switch state {
        case .receiving(let request, let body):
            state = .answering
            let loopBound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
            context.eventLoop.makeFutureWithTask { [server] in
                let answer = await server.receiver.answer(request, body)
                server.inbox.release(body.count)
                return answer
            }.whenSuccess { answer in
                let (handler, context) = loopBound.value
                handler.write(answer, context)
            }
        case .discarding(let answer, _):
            state = .answering
            write(answer, context)
        case .waiting, .answering, .closing: break
        }
    }

    private func close(with answer: OTLPAnswer, _ context: ChannelHandlerContext) {
        keepsAlive = false
        write(answer, context)
    }

    private func write(_ answer: OTLPAnswer, _ context: ChannelHandlerContext) {
        if case .closing = state { return server.ended(context.channel) }
        deadline?.cancel()
        let isLast = !keepsAlive || server.isStopping
        state = isLast ? .closing : .waiting
        var headers = HTTPHeaders([
            ("Content-Type", answer.encoding.contentType), ("Content-Length", "\(answer.body.count)"),
        ])
        if let seconds = answer.retryAfterSeconds { headers.add(name: "Retry-After", value: "\(seconds)") }
        if answer.status == 405 { headers.add(name: "Allow", value: "POST") }
        if isLast { headers.add(name: "Connection", value: "close") }
        let head = HTTPResponseHead(
            version: .http1_1, status: HTTPResponseStatus(statusCode: answer.status), headers: headers)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        if !answer.body.isEmpty {
            context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: answer.body)))), promise: nil)
        }
        let channel = context.channel
        let written = context.writeAndFlush(wrapOutboundOut(.end(nil)))
        written.whenComplete { [server] _ in
            server.ended(channel)
            if isLast { channel.close(promise: nil) }
        }
    }
}
