import ControlSocket
import FoundationEssentials
import NIOCore

/// Cuts what arrives into messages. A length that cannot be ends the connection before anything is buffered for it.
struct ControlFrameDecoder: ByteToMessageDecoder {
    typealias InboundOut = Data

    struct BadLength: Error {
        let length: UInt32
    }

    mutating func decode(context: ChannelHandlerContext, buffer: inout ByteBuffer) throws -> DecodingState {
        guard let prefix = buffer.getInteger(at: buffer.readerIndex, as: UInt32.self) else { return .needMoreData }
        guard let length = ControlFrame.length(prefix) else { throw BadLength(length: prefix) }
        guard buffer.readableBytes >= ControlFrame.lengthBytes + length else { return .needMoreData }
        buffer.moveReaderIndex(forwardBy: ControlFrame.lengthBytes)
        guard let message = buffer.readSlice(length: length) else { return .needMoreData }
        context.fireChannelRead(wrapInboundOut(Data(message.readableBytesView)))
        return .continue
    }

    /// A message cut off by the end of the connection is dropped: its sender gets no answer, and knows.
    mutating func decodeLast(context: ChannelHandlerContext, buffer: inout ByteBuffer, seenEOF: Bool) throws -> DecodingState {
        try decode(context: context, buffer: &buffer)
    }
}
