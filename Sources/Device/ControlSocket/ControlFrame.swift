import FoundationEssentials
import Glibc
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

/// `<data>/control.sock`, also where its path is longer than a socket address holds: a long one goes through an open
/// descriptor of the directory, which is the same file by a shorter name.
package struct ControlSocketPath: ~Copyable {
    package static let name = "control.sock"
    /// `sun_path` with its terminating zero.
    package static let maximumBytes = 108

    /// Fits into a socket address, for as long as this value lives.
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

/// How an upload of logs does, as a running agent tells it in the JSON of its answer.
package struct LogUploadReport: Codable, Equatable, Sendable {
    package enum State: String, Codable, Sendable {
        case underWay = "under-way"
        case done, failed, cancelled
    }

    /// Of 16 bytes, in the form of a UUID.
    package var id: String
    /// `application` or `crash`.
    package var type: String
    package var state: State
    package var chunks: Int
    /// Of the chunks, those the collector has.
    package var sent: Int
    /// Of the chunks, those whose lines fell to a limit of the store before they were sent.
    package var gone: Int
    /// Of text.
    package var bytes: UInt64
    /// What it waits for, or why it failed.
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
