import NIOCore
import NIOHTTP1

/// Rules of HTTP/1 that the parts behind this handler do not implement (RFC 9110, 9112):
///
/// - A request of HTTP/1.0 without `Connection: keep-alive` gets `Connection: close`, which is what it means. Otherwise
///   the server would wait for another request that never comes.
/// - An answer to HTTP/1.0 is not chunked, because such a client reads the sizes of the chunks as its content. Without
///   `Content-Length` the end of the connection ends it.
/// - `Expect: 100-continue` is answered with 100 at once, so the sender does not wait before its body. A body that must
///   be refused is refused while it arrives, like any other.
/// - A request of HTTP/1.1 without exactly one `Host`, or an older one with several, is answered with 400, like bytes
///   that are not HTTP. A proxy before the collector might have decided by another of them.
/// - The answer to HEAD has no body, not even the end of a chunked one, which would look like the start of the next
///   answer.
///
/// Belongs to one channel and runs only on its event loop.
final class HTTP1SemanticsHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private struct Request {
        var isHead: Bool
        /// Whether the request is of HTTP/1.0.
        var isOld: Bool
    }

    /// The unanswered requests in order. Beyond a few, pipelined requests wait in the kernel.
    private var unanswered: [Request] = []
    /// Whether the connection ends with the present answer.
    private var isLast = false
    /// Set when a request was refused. Nothing after it is read, because the connection ends.
    private var isRefused = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isRefused else { return }
        guard case .head(var head) = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
        let hosts = head.headers["host"].count
        guard hosts == 1 || hosts == 0 && head.version.minor == 0 else {
            isRefused = true
            context.fireErrorCaught(HTTPParserError.invalidHeaderToken)
            return
        }
        unanswered.append(Request(isHead: head.method == .HEAD, isOld: head.version.minor == 0))
        if head.version == .http1_1, head.headers["expect"].contains(where: { $0.lowercased() == "100-continue" }) {
            context.writeAndFlush(
                wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .continue))), promise: nil)
        }
        guard !head.isKeepAlive else { return context.fireChannelRead(data) }
        head.headers.replaceOrAdd(name: "connection", value: "close")
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let isOfHead = unanswered.first?.isHead ?? false
        switch unwrapOutboundIn(data) {
        case .head(var head):
            guard unanswered.first?.isOld == true, head.status.mayHaveResponseBody,
                !head.headers.contains(name: "content-length")
            else { break }
            // The encoder adds chunks to an answer of HTTP/1.1.
            head.version = .http1_0
            head.headers.remove(name: "transfer-encoding")
            head.headers.replaceOrAdd(name: "connection", value: "close")
            isLast = true
            return context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .body: if isOfHead { return drop(promise, context) }
        case .end:
            if !unanswered.isEmpty { unanswered.removeFirst() }
            if isLast { return end(data, promise, context) }
            if isOfHead { return drop(promise, context) }
        }
        context.write(data, promise: promise)
    }

    private func end(_ data: NIOAny, _ promise: EventLoopPromise<Void>?, _ context: ChannelHandlerContext) {
        let promise = promise ?? context.eventLoop.makePromise()
        let channel = context.channel
        promise.futureResult.whenComplete { _ in channel.close(promise: nil) }
        context.write(data, promise: promise)
    }

    /// Completed when everything before it is written.
    private func drop(_ promise: EventLoopPromise<Void>?, _ context: ChannelHandlerContext) {
        guard let promise else { return }
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer()))), promise: promise)
    }
}

@available(*, unavailable) extension HTTP1SemanticsHandler: Sendable {}
