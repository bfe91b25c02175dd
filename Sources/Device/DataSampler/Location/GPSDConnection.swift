import FoundationEssentials
import Glibc

/// A connection to gpsd that reads lines. It blocks its thread, for as long as the deadlines say. One caller at a time.
///
/// What gpsd sends is not trusted: a line is bounded, and so is what is read for one question.
struct GPSDConnection: ~Copyable {
    /// Why a connection is of no use any more.
    struct Failure: Error, Equatable {
        var reason: String
    }

    /// The answer to a poll with several receivers has some 10 KiB.
    static let maximumLineBytes = 64 * 1024
    private static let chunkBytes = 4096
    private static let sendTimeout = timeval(tv_sec: 1, tv_usec: 0)

    private let descriptor: Int32
    private var buffer: [UInt8] = []

    /// - Throws: why nothing answers there.
    init(_ address: GPSDAddress) throws(Failure) {
        switch address.connect(timeout: Self.sendTimeout) {
        case .success(let descriptor): self.descriptor = descriptor
        case .failure(let error):
            throw Failure(
                reason: """
                    gpsd at \(address) cannot be reached (\(error.text)): install and start gpsd, or correct the \
                    setting gpsd
                    """)
        }
    }

    deinit { close(descriptor) }

    func send(_ text: String) throws(Failure) {
        let bytes = Array(text.utf8)
        // Requests are far smaller than a socket's buffer.
        guard Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
            throw Failure(reason: "the connection to gpsd broke: \(SystemErrorNumber(number: errno).text)")
        }
    }

    /// The next line, without its end.
    /// - Parameter remaining: the milliseconds that may pass, asked before each wait.
    /// - Returns: `nil` if none was complete by then.
    mutating func line(within remaining: () -> Int32) throws(Failure) -> Data? {
        var searched = 0
        while true {
            if let end = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) {
                var line = buffer[..<end]
                if line.last == UInt8(ascii: "\r") { line.removeLast() }
                defer { buffer.removeFirst(end + 1) }
                return Data(line)
            }
            searched = buffer.count
            guard searched <= Self.maximumLineBytes else {
                throw Failure(reason: "gpsd sent a line of more than \(Self.maximumLineBytes) bytes")
            }
            guard try fill(within: remaining()) else { return nil }
        }
    }

    private mutating func fill(within milliseconds: Int32) throws(Failure) -> Bool {
        guard milliseconds > 0 else { return false }
        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        let ready = poll(&request, 1, milliseconds)
        // After an interruption the caller asks for the rest of the time.
        guard ready > 0 else { return ready < 0 && errno == EINTR }
        var chunk = [UInt8](repeating: 0, count: Self.chunkBytes)
        let count = recv(descriptor, &chunk, chunk.count, Int32(MSG_DONTWAIT))
        if count < 0, errno == EAGAIN || errno == EINTR { return true }
        guard count > 0 else { throw Failure(reason: "gpsd closed the connection") }
        buffer.append(contentsOf: chunk[..<count])
        return true
    }
}
