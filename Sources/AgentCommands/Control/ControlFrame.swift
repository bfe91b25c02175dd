import FoundationEssentials
import NIOCore
import WireModel

/// The control socket's framing: a message behind its length, 4 bytes, big-endian; 1 byte to 1 MiB.
enum ControlFrame {
    static let maximumBytes = 1024 * 1024
    static let lengthBytes = 4

    /// Reads a length; `nil` where no frame may have it.
    static func length(_ prefix: UInt32) -> Int? {
        (1...UInt32(maximumBytes)).contains(prefix) ? Int(prefix) : nil
    }

    /// A frame's bytes. An answer that has grown too large becomes one that says so.
    static func bytes(_ answer: WireControlAnswer) -> Data {
        let message = answer.encoded
        guard message.count <= maximumBytes else {
            var refusal = WireControlAnswer()
            refusal.errorCode = "answer-too-large"
            refusal.message = "the answer has \(message.count) bytes, over \(maximumBytes)"
            refusal.exitCode = 1
            return framed(refusal.encoded)
        }
        return framed(message)
    }

    /// `nil` for a request over the bound.
    static func bytes(_ request: WireControlRequest) -> Data? {
        let message = request.encoded
        return message.count <= maximumBytes ? framed(message) : nil
    }

    private static func framed(_ message: Data) -> Data {
        var frame = Data(capacity: lengthBytes + message.count)
        for shift in [24, 16, 8, 0] { frame.append(UInt8(truncatingIfNeeded: message.count >> shift)) }
        frame.append(message)
        return frame
    }
}

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
