import NIOCore
import NIOHTTP1

/// What HTTP/1 means and the parts behind this place do not carry on (RFC 9110, 9112):
///
/// - A request of HTTP/1.0 without `Connection: keep-alive` becomes one that says `Connection: close`, which is what it
///   means: the server would wait for a next request that its sender never makes.
/// - `Expect: 100-continue` is answered with 100 at once, so that the sender does not wait before its body. A body that
///   is refused is refused while it comes, as any other.
/// - The answer to HEAD has no body, not even the end of one in chunks, which the next answer on the connection would
///   seem to begin with.
///
/// Belongs to one channel and runs on its event loop only.
final class HTTP1SemanticsHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// Whether each request that has no answer yet is HEAD, in their order. Pipelined requests wait in the kernel
    /// beyond a few.
    private var unanswered: [Bool] = []

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(var head) = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
        unanswered.append(head.method == .HEAD)
        if head.version == .http1_1, head.headers["expect"].contains(where: { $0.lowercased() == "100-continue" }) {
            context.writeAndFlush(
                wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .continue))), promise: nil)
        }
        guard !head.isKeepAlive else { return context.fireChannelRead(data) }
        head.headers.replaceOrAdd(name: "connection", value: "close")
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let isOfHead = unanswered.first ?? false
        switch unwrapOutboundIn(data) {
        case .head: break
        case .body: if isOfHead { return drop(promise, context) }
        case .end:
            if !unanswered.isEmpty { unanswered.removeFirst() }
            if isOfHead { return drop(promise, context) }
        }
        context.write(data, promise: promise)
    }

    /// Written when all before it is.
    private func drop(_ promise: EventLoopPromise<Void>?, _ context: ChannelHandlerContext) {
        guard let promise else { return }
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer()))), promise: promise)
    }
}

@available(*, unavailable)
extension HTTP1SemanticsHandler: Sendable {}
