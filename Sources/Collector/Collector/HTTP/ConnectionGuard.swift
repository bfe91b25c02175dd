import CoreMetrics
import HTTPTypes
import NIOCore
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import OTLP
import WireModel

/// Performs the decisions of `ConnectionGuardStateMachine`, and gives every answer the collector's headers. The
/// framework makes some answers itself, for example if a request is not HTTP. Middleware runs after a complete header,
/// so it sees neither these answers nor slow senders.
///
/// Belongs to one channel and runs on its event loop only.
final class ConnectionGuard: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private let identity: CollectorIdentity
    private let limits: ConnectionLimits
    private let metrics: CollectorMetrics
    private let shares: ConnectionShares
    /// Set if the connection counts among those of its address.
    private var address: ConnectionShares.Address?
    private var isOverShare = false
    private var state: ConnectionGuardStateMachine
    private var timer: Scheduled<Void>?
    private var timerDeadline = NIODeadline.distantFuture
    /// The body to write if the framework's own answer has none.
    private var missingBody: ByteBuffer?
    /// For each request that is not answered yet, in order: set if it is one of OTLP, whose refusals have another form.
    /// Beyond a few, pipelined requests wait in the kernel.
    private var unanswered: [OTLPExchange?] = []

    init(identity: CollectorIdentity, limits: ConnectionLimits, shares: ConnectionShares, metrics: CollectorMetrics) {
        self.metrics = metrics
        self.shares = shares
        self.identity = identity
        self.limits = limits
        state = ConnectionGuardStateMachine(limits: limits, now: .now())
    }

    func handlerAdded(context: ChannelHandlerContext) {
        metrics.connections.increment()
        if let address = ConnectionShares.Address(context.remoteAddress) {
            isOverShare = !shares.acquire(address)
            if !isOverShare { self.address = address }
        }
        schedule(context)
        // Before the codec that discards version and method. A test's channel has no such codec and needs none.
        let pipeline = context.pipeline.syncOperations
        if let codec = try? pipeline.handler(type: HTTP1ToHTTPServerCodec.self) {
            try? pipeline.addHandler(HTTP1SemanticsHandler(), position: .before(codec))
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        metrics.connections.decrement()
        if let address { shares.giveBack(address) }
        address = nil
        timer?.cancel()
        timer = nil
    }

    func channelActive(context: ChannelHandlerContext) {
        context.fireChannelActive()
        guard isOverShare else { return }
        // No answer is sent: behind TLS it would require a handshake, and processor time is what is short.
        metrics.connectionRefused()
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        timer?.cancel()
        timer = nil
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let action: ConnectionGuardStateMachine.InboundAction
        switch unwrapInboundIn(data) {
        case .head(let head):
            unanswered.append(OTLPExchange(head))
            action = state.requestHeadArrived(now: .now())
        case .body(let buffer): action = state.requestBodyArrived(bytes: buffer.readableBytes)
        case .end: action = state.requestEndArrived(now: .now())
        }
        perform(action, context) { context.fireChannelRead(data) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.fireChannelReadComplete()
        // Discarded data never reaches the reader, who would otherwise request more.
        if case .lingering = state.phase { context.read() }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let event = event as? ChannelEvent, event == .inputClosed {
            perform(state.inputClosed(), context) { context.fireUserInboundEventTriggered(event) }
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(var head):
            guard head.status.kind != .informational else { return context.write(data, promise: promise) }
            let action = state.answerHeadWritten()
            guard action != .discard else { return discard(promise) }
            complete(&head)
            if action == .writeAsLast { head.headerFields[.connection] = "close" }
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .body:
            guard state.answerBodyWritten(now: .now()) else { return discard(promise) }
            context.write(data, promise: promise)
        case .end:
            let action = state.answerEndWritten(now: .now())
            guard action != .discard else { return discard(promise) }
            if !unanswered.isEmpty { unanswered.removeFirst() }
            if let body = missingBody {
                missingBody = nil
                context.write(wrapOutboundOut(.body(body)), promise: nil)
            }
            if action == .writeAndLinger {
                context.writeAndFlush(data, promise: promise)
                context.close(mode: .output, promise: nil)
                context.read()
            } else {
                context.write(data, promise: promise)
            }
            schedule(context)
        }
    }

    private func perform(
        _ action: ConnectionGuardStateMachine.InboundAction, _ context: ChannelHandlerContext, forward: () -> Void
    ) {
        switch action {
        case .forward:
            forward()
            schedule(context)
        case .discard: break
        case .close: context.close(promise: nil)
        }
    }

    private func discard(_ promise: EventLoopPromise<Void>?) { promise?.fail(ChannelError.outputClosed) }

    /// Adds the collector's headers, and a problem if an error has no body.
    private func complete(_ head: inout HTTPResponse) {
        identity.add(to: &head.headerFields)
        guard head.status.code >= 400, head.headerFields[.contentType] == nil else { return }
        let problem = Problem.ofFramework(status: head.status.code)
        guard case .some(.some(let otlp)) = unanswered.first else {
            let body = problem.body
            head.headerFields[.contentType] = WireNames.problem
            head.headerFields[.contentLength] = String(body.readableBytes)
            missingBody = body
            return
        }
        let answer = otlp.refusal(problem)
        head.status = .init(code: answer.status)
        for field in answer.headerFields { head.headerFields[field.name] = field.value }
        let body = ByteBuffer(bytes: answer.body)
        head.headerFields[.contentLength] = String(body.readableBytes)
        missingBody = body
    }

    /// One timer per connection, moved only for an earlier deadline, so a request needs no timer of its own.
    private func schedule(_ context: ChannelHandlerContext) {
        let deadline = state.deadline
        guard deadline < timerDeadline else { return }
        timer?.cancel()
        timerDeadline = deadline
        timer = context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) {
            self.timer = nil
            self.timerDeadline = .distantFuture
            self.deadlineReached(context)
        }
    }

    private func deadlineReached(_ context: ChannelHandlerContext) {
        switch state.deadlineReached(now: .now()) {
        case .none: break
        case .waitUntil: schedule(context)
        case .close: context.close(promise: nil)
        case .refuseSlowBody:
            let problem = Problem.slowBody(limits)
            var head = HTTPResponse(status: .requestTimeout, headerFields: problem.headerFields)
            var body = problem.body
            if case .some(.some(let otlp)) = unanswered.last {
                let answer = otlp.refusal(problem)
                head = HTTPResponse(status: .init(code: answer.status), headerFields: answer.headerFields)
                body = ByteBuffer(bytes: answer.body)
            }
            identity.add(to: &head.headerFields)
            head.headerFields[.connection] = "close"
            head.headerFields[.contentLength] = String(body.readableBytes)
            context.write(wrapOutboundOut(.head(head)), promise: nil)
            context.write(wrapOutboundOut(.body(body)), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
            context.close(mode: .output, promise: nil)
            // The body's reader learns that no more will come.
            context.fireChannelReadComplete()
            context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
            context.read()
            schedule(context)
        }
    }
}

@available(*, unavailable) extension ConnectionGuard: Sendable {}
