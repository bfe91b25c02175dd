import FoundationEssentials
import Glibc
import TelemetryBasics
import WireModel

/// The framing on the control socket: a length of 4 bytes, big-endian, then a message of 1 byte to 1 MiB.
package enum ControlFrame {
    package static let maximumBytes = 1024 * 1024
    package static let lengthBytes = 4

    /// Reads a length; `nil` if no frame may have it.
    package static func length(_ prefix: UInt32) -> Int? {
        (1...UInt32(maximumBytes)).contains(prefix) ? Int(prefix) : nil
    }

    /// A frame with the answer. An answer that is too large is replaced by an error that says so.
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

    /// `nil` if the request is too large.
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

/// The path `<data>/control.sock`. If it is longer than a socket address can hold, the path goes through an open
/// descriptor of the directory, which is a shorter name for the same file.
package struct ControlSocketPath: ~Copyable {
    package static let name = "control.sock"
    /// The size of `sun_path`, including its terminating zero.
    package static let maximumBytes = 108

    /// Fits into a socket address as long as this value lives.
    package let path: String
    private let descriptor: Int32?

    package init(directory: String) throws(ControlError) {
        let whole = "\(directory)/\(Self.name)"
        guard whole.utf8.count >= Self.maximumBytes else {
            path = whole
            descriptor = nil
            return
        }
        let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw ControlError(
                .failed, "the data directory \(directory) cannot be opened: \(String(cString: strerror(errno)))")
        }
        self.descriptor = descriptor
        path = "/proc/self/fd/\(descriptor)/\(Self.name)"
    }

    deinit {
        if let descriptor { close(descriptor) }
    }
}

/// The progress of a log upload. A running agent reports it in the JSON of its answer.
package struct LogUploadReport: Codable, Equatable, Sendable {
    package enum State: String, Codable, Sendable {
        case underWay = "under-way"
        case done, failed, cancelled
    }

    /// 16 bytes in the form of a UUID.
    package var id: String
    /// `application` or `crash`.
    package var type: String
    package var state: State
    package var chunks: Int
    /// Chunks that the collector has.
    package var sent: Int
    /// Chunks whose lines the store's limits removed before they were sent.
    package var gone: Int
    /// Bytes of text.
    package var bytes: UInt64
    /// The details: what the upload waits for, or why it failed.
    package var detail: String

    package init(
        id: String, type: String, state: State, chunks: Int, sent: Int, gone: Int, bytes: UInt64, detail: String
    ) {
        self.id = id
        self.type = type
        self.state = state
        self.chunks = chunks
        self.sent = sent
        self.gone = gone
        self.bytes = bytes
        self.detail = detail
    }
}
