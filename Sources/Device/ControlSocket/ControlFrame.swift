import FoundationEssentials
import WireModel

/// The control socket's framing: a message behind its length, 4 bytes, big-endian; 1 byte to 1 MiB.
package enum ControlFrame {
    package static let maximumBytes = 1024 * 1024
    package static let lengthBytes = 4

    /// Reads a length; `nil` where no frame may have it.
    package static func length(_ prefix: UInt32) -> Int? {
        (1...UInt32(maximumBytes)).contains(prefix) ? Int(prefix) : nil
    }

    /// A frame's bytes. An answer that has grown too large becomes one that says so.
    package static func bytes(_ answer: WireControlAnswer) -> Data {
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
    package static func bytes(_ request: WireControlRequest) -> Data? {
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
