import NIOCore
import NIOHTTP1

/// Makes a request of HTTP/1.0 without `Connection: keep-alive` one that says `Connection: close`, which is what it means: the version is
/// lost behind this place, and the server would wait for a next request that its sender never makes.
///
/// Belongs to one channel and runs on its event loop only.
final class HTTP10Handler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(var head) = unwrapInboundIn(data), !head.isKeepAlive else { return context.fireChannelRead(data) }
        head.headers.replaceOrAdd(name: "connection", value: "close")
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }
}

@available(*, unavailable)
extension HTTP10Handler: Sendable {}
