import ControlSocket
import FoundationEssentials
import NIOCore
import WireModel

/// A message over a connection: the one request of a command, or the lines of a program.
enum ControlMessage: Sendable {
    /// `ControlRequest`, serialized.
    case request(Data)
    /// The line without its newline.
    case line(Data)
}

/// Splits the bytes into messages.
///
/// A request stands behind its length, whose first byte is 0. A connection that begins with `{`, or with white space,
/// sends lines. An impossible length, or a line that is too long, ends the connection.
struct ControlMessageDecoder: ByteToMessageDecoder {
    typealias InboundOut = ControlMessage

    struct BadLength: Error {
        let length: UInt32
    }

    struct LineTooLong: Error {}

    private enum Form { case requests, lines }

    private var form: Form?

    mutating func decode(context: ChannelHandlerContext, buffer: inout ByteBuffer) throws -> DecodingState {
        if form == nil {
            guard let first = buffer.getInteger(at: buffer.readerIndex, as: UInt8.self) else { return .needMoreData }
            form = "{ \t\r\n".utf8.contains(first) ? .lines : .requests
        }
        return form == .lines ? try line(context, &buffer) : try request(context, &buffer)
    }

    private func request(_ context: ChannelHandlerContext, _ buffer: inout ByteBuffer) throws -> DecodingState {
        guard let prefix = buffer.getInteger(at: buffer.readerIndex, as: UInt32.self) else { return .needMoreData }
        guard let length = ControlFrame.length(prefix) else { throw BadLength(length: prefix) }
        guard buffer.readableBytes >= ControlFrame.lengthBytes + length else { return .needMoreData }
        buffer.moveReaderIndex(forwardBy: ControlFrame.lengthBytes)
        guard let message = buffer.readSlice(length: length) else { return .needMoreData }
        context.fireChannelRead(wrapInboundOut(.request(Data(message.readableBytesView))))
        return .continue
    }

    private func line(_ context: ChannelHandlerContext, _ buffer: inout ByteBuffer) throws -> DecodingState {
        let end = buffer.readableBytesView.firstIndex(of: UInt8(ascii: "\n"))
        guard (end ?? buffer.writerIndex) - buffer.readerIndex <= ControlLine.maximumBytes else { throw LineTooLong() }
        guard let end, let line = buffer.readSlice(length: end - buffer.readerIndex) else { return .needMoreData }
        buffer.moveReaderIndex(forwardBy: 1)
        fire(line, context)
        return .continue
    }

    private func fire(_ line: ByteBuffer, _ context: ChannelHandlerContext) {
        let bytes = line.readableBytesView
        guard bytes.contains(where: { !" \t\r".utf8.contains($0) }) else { return }
        context.fireChannelRead(wrapInboundOut(.line(Data(bytes))))
    }

    /// Drops a request that the end of the connection cut off. A last line needs no newline.
    mutating func decodeLast(
        context: ChannelHandlerContext, buffer: inout ByteBuffer, seenEOF: Bool
    ) throws -> DecodingState {
        let state = try decode(context: context, buffer: &buffer)
        guard state == .needMoreData, form == .lines, let line = buffer.readSlice(length: buffer.readableBytes) else {
            return state
        }
        fire(line, context)
        return .needMoreData
    }
}

/// Hands over the one request of a connection, or its lines one after the other. It closes connections that ask nothing
/// or send something else.
final class ControlConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = ControlMessage
    typealias OutboundOut = ByteBuffer

    /// Lines that may wait for their turn before the program has to wait.
    private static let maximumWaiting = 64

    private let requests: AsyncStream<ControlServer.Request>.Continuation
    private var hasRequest = false
    private var waiting = CircularBuffer<Data>()
    /// A line is worked on.
    private var isBusy = false
    /// The program sends nothing more.
    private var isEnded = false

    init(requests: AsyncStream<ControlServer.Request>.Continuation) { self.requests = requests }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .request(let message):
            guard !hasRequest else { return }
            hasRequest = true
            requests.yield(ControlServer.Request(message: .request(message), channel: context.channel) {})
        case .line(let line):
            waiting.append(line)
            if waiting.count > Self.maximumWaiting { setReading(false, context) }
            next(context)
        }
    }

    /// Hands over the next line, unless one is worked on.
    private func next(_ context: ChannelHandlerContext) {
        guard !isBusy else { return }
        guard let line = waiting.popFirst() else {
            if isEnded, !hasRequest { context.close(promise: nil) }
            return
        }
        isBusy = true
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let eventLoop = context.eventLoop
        requests.yield(
            ControlServer.Request(message: .line(line), channel: context.channel) {
                eventLoop.execute {
                    let (handler, context) = bound.value
                    handler.isBusy = false
                    if handler.waiting.isEmpty { handler.setReading(true, context) }
                    handler.next(context)
                }
            })
    }

    private func setReading(_ isReading: Bool, _ context: ChannelHandlerContext) {
        // Fails only if the connection has ended.
        context.channel.setOption(.autoRead, value: isReading).whenFailure { _ in }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard error is ControlMessageDecoder.LineTooLong else { return context.close(promise: nil) }
        let answer = ControlLineAnswer.failed(
            "line-too-long", "a line may have at most \(ControlLine.maximumBytes) bytes")
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: answer.data))).whenComplete { _ in
            bound.value.close(promise: nil)
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is IdleStateHandler.IdleStateEvent {
            // An answer may take longer.
            if !hasRequest, !isBusy { context.close(promise: nil) }
        } else if case .inputClosed? = event as? ChannelEvent {
            isEnded = true
            // A command that ends has gone. A program may have said all it has to say, and reads the answers.
            if hasRequest { context.close(promise: nil) } else { next(context) }
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }
}
